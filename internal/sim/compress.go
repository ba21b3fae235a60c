package sim

import (
	"bytes"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// minCompressed is the minimal length of compressed responses. Servers usually have such a
// threshold.
const minCompressed = 256

// compressor compresses responses.
type compressor struct {
	codings []string
	zstd    *zstd.Encoder
}

func newCompressor(encodings []string) *compressor {
	c := &compressor{}
	for _, coding := range encodings {
		if coding == "gzip" || coding == "zstd" {
			c.codings = append(c.codings, coding)
		}
	}
	c.zstd, _ = zstd.NewWriter(nil) // only invalid options fail
	if len(c.codings) > 0 {
		// The first call creates channels that later calls use. They must not belong to the
		// synctest bubble of a later caller.
		c.zstd.EncodeAll([]byte{0}, nil)
	}
	return c
}

// compress compresses the body of a reply with the first of the configured encodings that the request
// accepts. It leaves a short body plain.
func (c *compressor) compress(out reply, accepted []string) reply {
	i := slices.IndexFunc(c.codings, func(coding string) bool {
		return slices.ContainsFunc(accepted, func(header string) bool { return accepts(header, coding) })
	})
	if i < 0 || len(out.body) < minCompressed {
		return out
	}
	out.coding = c.codings[i]
	if out.coding == "zstd" {
		out.body = c.zstd.EncodeAll(out.body, nil)
		return out
	}
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	_, _ = w.Write(out.body) // a buffer accepts all writes
	_ = w.Close()
	out.body = compressed.Bytes()
	return out
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
