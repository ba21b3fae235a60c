package sim

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/xxh3"
)

// minPacked is the minimal length of compressed responses. Servers usually have such a
// threshold.
const minPacked = 256

// packer compresses responses, and caches them up to a limit.
type packer struct {
	codings []string
	// limit is the maximal size of the stored bodies, in bytes.
	limit int64
	zstd  *zstd.Encoder

	mu     sync.Mutex // guards the fields below
	stored map[storedKey][]byte
	size   int64
}

// storedKey identifies a compressed response.
type storedKey struct {
	coding string
	sum    xxh3.Uint128
}

func newPacker(opts Options) *packer {
	p := &packer{limit: opts.PackedBytes, stored: map[storedKey][]byte{}}
	for _, coding := range opts.Encodings {
		if coding == "gzip" || coding == "zstd" {
			p.codings = append(p.codings, coding)
		}
	}
	p.zstd, _ = zstd.NewWriter(nil) // only invalid options fail
	if len(p.codings) > 0 {
		// The first call creates channels that later calls use. They must not belong to the
		// synctest bubble of a later caller.
		p.zstd.EncodeAll([]byte{0}, nil)
	}
	return p
}

// choose returns the first of the configured encodings that the request accepts, or "".
func (p *packer) choose(accepted []string) string {
	for _, coding := range p.codings {
		if slices.ContainsFunc(accepted, func(header string) bool { return accepts(header, coding) }) {
			return coding
		}
	}
	return ""
}

// accepts reports whether an Accept-Encoding header includes an encoding (RFC 9110,
// 12.5.3).
func accepts(header, coding string) bool {
	byWildcard := false
	for part := range strings.SplitSeq(header, ",") {
		name, weight, weighted := strings.Cut(part, ";")
		name = strings.TrimSpace(name)
		wanted := true
		if weighted {
			_, value, _ := strings.Cut(weight, "=")
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			wanted = err != nil || q > 0
		}
		if strings.EqualFold(name, coding) {
			return wanted
		}
		byWildcard = byWildcard || name == "*" && wanted
	}
	return byWildcard
}

// pack compresses the body of a reply, unless it is short. The compressed body belongs to
// the packer and must not be modified.
func (p *packer) pack(out reply, coding string) reply {
	if coding == "" || len(out.body) < minPacked {
		return out
	}
	out.coding = coding
	if p.limit == 0 {
		out.body = p.compress(out.body, coding)
		return out
	}
	key := storedKey{coding, xxh3.Hash128(out.body)}
	p.mu.Lock()
	packed := p.stored[key]
	p.mu.Unlock()
	if packed == nil {
		packed = p.compress(out.body, coding)
		p.store(key, packed)
	}
	out.body = packed
	return out
}

func (p *packer) store(key storedKey, packed []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, found := p.stored[key]; found || p.size+int64(len(packed)) > p.limit {
		return
	}
	p.stored[key] = packed
	p.size += int64(len(packed))
}

func (p *packer) compress(body []byte, coding string) []byte {
	if coding == "zstd" {
		return p.zstd.EncodeAll(body, nil)
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(body) // a buffer accepts all writes
	_ = w.Close()
	return out.Bytes()
}
