package sim

import (
	"bytes"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// minPacked is the minimal length of compressed responses. Servers usually have such a
// threshold.
const minPacked = 256

// packer compresses responses.
type packer struct {
	codings []string
	zstd    *zstd.Encoder
}

func newPacker(encodings []string) *packer {
	p := &packer{}
	for _, coding := range encodings {
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

// accepts reports whether an Accept-Encoding header names an encoding. It ignores weights.
func accepts(header, coding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, _, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), coding) {
			return true
		}
	}
	return false
}

// pack compresses the body of a reply, unless it is short.
func (p *packer) pack(out reply, coding string) reply {
	if coding == "" || len(out.body) < minPacked {
		return out
	}
	out.coding = coding
	if coding == "zstd" {
		out.body = p.zstd.EncodeAll(out.body, nil)
		return out
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(out.body) // a buffer accepts all writes
	_ = w.Close()
	out.body = packed.Bytes()
	return out
}
