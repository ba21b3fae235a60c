package sim

import (
	"bytes"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func newZstdEncoder() *zstd.Encoder {
	encoder, _ := zstd.NewWriter(nil) // fails only with invalid options
	// The first EncodeAll creates channels that later calls use. They must not belong to the
	// synctest bubble of a later caller.
	encoder.EncodeAll([]byte{0}, nil)
	return encoder
}

// compress uses the first configured encoding that the request accepts.
func (s *Service) compress(out reply, acceptHeaders []string) reply {
	i := slices.IndexFunc(s.opts.Encodings, func(encoding string) bool {
		return slices.ContainsFunc(acceptHeaders, func(header string) bool { return accepts(header, encoding) })
	})
	if i < 0 || len(out.body) < 256 { // most servers have a similar threshold
		return out
	}
	out.header.Set("Content-Encoding", s.opts.Encodings[i])
	if s.opts.Encodings[i] == "zstd" {
		out.body = s.zstd.EncodeAll(out.body, nil)
		return out
	}
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	_, _ = w.Write(out.body) // a buffer accepts all writes
	_ = w.Close()
	out.body = compressed.Bytes()
	return out
}

// accepts ignores weights.
func accepts(header, encoding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, _, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), encoding) {
			return true
		}
	}
	return false
}
