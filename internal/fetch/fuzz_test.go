package fetch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/klauspost/compress/zstd"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
)

// storeFiles returns the content of the two files of a store with n responses, in the three encodings.
func storeFiles(t testing.TB, n int) (journal, segment []byte) {
	t.Helper()
	dir := t.TempDir()
	l, err := fetch.OpenResponseStore(dir, fetch.StoreOptions{})
	harness.Must(t, err)
	for i := 1; i <= n; i++ {
		r := fetch.Response{Request: testRequest(i), Status: http.StatusOK, Body: []byte(bodyText(i))}
		switch i % 3 {
		case 0:
			r.Compressed, r.Encoding = compressGzip(bodyText(i), ""), "gzip"
		case 1:
			r.Compressed, r.Encoding = compressZstdUnsized(bodyText(i)), "zstd"
		}
		_, err := l.Append(r, time.Now(), 0)
		harness.Must(t, err)
	}
	harness.Must(t, l.Close())
	journal, err = os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	harness.Must(t, err)
	segment, err = os.ReadFile(filepath.Join(dir, "000001.bodies"))
	harness.Must(t, err)
	return journal, segment
}

// writeStore writes a store with these files and returns its folder.
func writeStore(t *testing.T, journal, segment []byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string][]byte{"journal.jsonl": journal, "000001.bodies": segment} {
		harness.Must(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	return dir
}

// FuzzOpenStore opens arbitrary bytes as a store. Responses stored afterwards must be
// found.
func FuzzOpenStore(f *testing.F) {
	journal, segment := storeFiles(f, 2)
	f.Add(journal, segment)
	f.Add(journal[:len(journal)/2], segment)
	f.Add([]byte("{}\n"), []byte{})
	f.Fuzz(func(t *testing.T, journal, segment []byte) {
		l := openStore(t, writeStore(t, journal, segment), withoutSync())
		defer closeStore(t, l)
		storeResponses(t, l, 1, 3)
		if found := lookupAll(t, l, 3); len(found) != 3 {
			t.Errorf("found responses %v after storing again, want all 3", found)
		}
	})
}

// FuzzTornStore truncates both files of a store and changes a byte of one of them.
func FuzzTornStore(f *testing.F) {
	store := newTornStore(f, 5)
	journalLength, segmentLength := uint(len(store.journal)), uint(len(store.segment))
	f.Add(journalLength, segmentLength, false, uint(0), byte(0))
	f.Add(journalLength-3, segmentLength, true, uint(40), byte(1))
	f.Add(journalLength, segmentLength-9, false, journalLength/2, byte(0x20))
	f.Fuzz(func(t *testing.T, journalCut, segmentCut uint, inSegment bool, at uint, change byte) {
		damage := storeDamage{min(journalCut, journalLength), min(segmentCut, segmentLength), inSegment, at % journalLength, change}
		if inSegment {
			damage.at = at % segmentLength
		}
		store.check(t, damage)
	})
}

// tornStore contains the files of a store with n responses.
type tornStore struct {
	n                int
	journal, segment []byte
}

func newTornStore(t testing.TB, n int) tornStore {
	journal, segment := storeFiles(t, n)
	return tornStore{n, journal, segment}
}

// storeDamage describes the damage to a store: the lengths of the truncated files, and a byte that is changed in the
// segment or in the journal. A change of 0 changes nothing.
type storeDamage struct {
	journalLength, segmentLength uint
	inSegment                    bool
	at                           uint
	change                       byte
}

// check damages a copy of the store. All undamaged responses must be found, and no wrong body may be returned. After
// the responses have been stored again, all must be found, in the order of storing.
func (s tornStore) check(t *testing.T, damage storeDamage) {
	t.Helper()
	journal, segment := bytes.Clone(s.journal), bytes.Clone(s.segment)
	if damage.inSegment {
		segment[damage.at] ^= damage.change
	} else {
		journal[damage.at] ^= damage.change
	}
	dir := writeStore(t, journal[:damage.journalLength], segment[:damage.segmentLength])
	l := openStore(t, dir, withoutSync())
	if damage.change == 0 && l.Damaged() > 0 {
		t.Errorf("%+v: %d lines are reported as damaged, want none: a killed run can leave an incomplete last line", damage, l.Damaged())
	}
	for i := 1; i <= s.n; i++ {
		r, ok := l.Lookup(testRequest(i))
		if ok && string(r.Body) != bodyText(i) {
			t.Errorf("%+v: response %d is %q, want %q", damage, i, r.Body, bodyText(i))
		}
		if !ok && damage.isIntact(t, s.journal, i) {
			t.Errorf("%+v: response %d is lost, although its line and frame are not damaged", damage, i)
		}
	}
	storeResponses(t, l, 1, s.n)
	closeStore(t, l)
	l = openStore(t, dir, withoutSync())
	defer closeStore(t, l)
	if found := lookupAll(t, l, s.n); len(found) != s.n {
		t.Errorf("%+v: found responses %v after storing again, want all %d", damage, found, s.n)
	}
	previous := uint64(0)
	for _, response := range storedResponses(t, dir) {
		if response.Seq <= previous {
			t.Fatalf("%+v: listed seq %d after seq %d, want ascending seqs", damage, response.Seq, previous)
		}
		previous = response.Seq
	}
}

// isIntact reports whether the line and frame of a response and the end of the line before it
// are undamaged. number counts the responses from 1.
func (d storeDamage) isIntact(t *testing.T, journal []byte, number int) bool {
	t.Helper()
	start, n := uint(0), 0
	for lineText := range bytes.Lines(journal) {
		end := start + uint(len(lineText))
		n++
		if n < number {
			start = end
			continue
		}
		var line struct{ Offset, Stored uint }
		harness.Must(t, json.Unmarshal(lineText, &line))
		frameEnd := line.Offset + line.Stored
		if end > d.journalLength || frameEnd > d.segmentLength {
			return false
		}
		if d.change == 0 {
			return true
		}
		if d.inSegment {
			return d.at < line.Offset || d.at >= frameEnd
		}
		return d.at+1 < start || d.at >= end // start-1 is the end of the line before
	}
	return false
}

// FuzzCompressedBodies sends arbitrary bytes as gzip or zstd. The client must read the same body
// as another decompressor. If the other decompressor fails or its result exceeds the limit, the client
// must return an error.
func FuzzCompressedBodies(f *testing.F) {
	const limit = 4096
	long := strings.Repeat(bodyText(9), 40)
	for _, compressed := range [][]byte{compressGzip(bodyText(9), "c"), compressGzip(long, ""), slices.Concat(compressGzip("{}", ""), compressGzip(" ", ""))} {
		f.Add(compressed, false)
	}
	for _, compressed := range [][]byte{compressZstd(bodyText(9)), compressZstdUnsized(bodyText(9)), compressZstd(long), slices.Concat(compressZstdUnsized("{"), compressZstd("}"))} {
		f.Add(compressed, true)
	}
	f.Fuzz(func(t *testing.T, compressed []byte, asZstd bool) {
		if len(compressed) == 0 || len(compressed) > limit {
			t.Skip()
		}
		name, decompress := "gzip", decompressGzip
		if asZstd {
			name, decompress = "zstd", decompressZstd
		}
		want, wantErr := decompress(compressed, limit+1)
		cfg := testConfig(encodedBody(compressed, name))
		cfg.MaxBody, cfg.Retry.MaxRetries = limit, 0
		var got []byte
		_, err := newClient(t, cfg, nil).Get(t.Context(), pageRequest(1, 1), func(_ context.Context, r fetch.Response) (stream.PageFacts, error) {
			got = bytes.Clone(r.Body)
			return stream.PageFacts{}, nil
		})
		switch {
		case wantErr != nil || len(want) > limit:
			if err == nil {
				t.Errorf("read %q, want an error: %v", got, wantErr)
			}
		case err != nil && strings.Contains(err.Error(), "gzip: invalid header"):
			// The other decompressor ignores reserved bits.
		case err != nil || !bytes.Equal(got, want):
			t.Errorf("read %q: %v, want %q", got, err, want)
		}
	})
}

// decompressGzip returns at most limit bytes.
func decompressGzip(compressed []byte, limit int64) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, limit))
}

// decompressZstd returns at most limit bytes.
func decompressZstd(compressed []byte, limit int64) ([]byte, error) {
	z, err := zstd.NewReader(bytes.NewReader(compressed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(8<<20))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return io.ReadAll(io.LimitReader(z, limit))
}

// FuzzErrorsTellNoSecret sends arbitrary responses that contain the token. Errors must
// contain neither the token, nor control characters, nor the secret "hidden" in the query of
// requestTokenInfo.
func FuzzErrorsTellNoSecret(f *testing.F) {
	f.Add(403, "https://other.test/?key=", []byte("<html>\x1b[31m"), 3)
	f.Add(302, "http://service.test/v1?a=%zz&token=", []byte("{"), 0)
	f.Add(200, "\x9b", []byte(`{"records":`+strings.Repeat(" ", 470)), 475)
	f.Fuzz(func(t *testing.T, code int, location string, content []byte, at int) {
		at = max(0, min(at, len(content)))
		respond := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location+token)
			w.WriteHeader(200 + (code%400+400)%400) // a status from 200 to 599
			_, _ = w.Write(slices.Concat(content[:at], []byte(token), content[at:]))
		}
		for err := requestTokenInfo(t, newClient(t, testConfig(http.HandlerFunc(respond)), nil)); err != nil; err = errors.Unwrap(err) {
			message := err.Error()
			if strings.Contains(message, token) || strings.Contains(message, "hidden") {
				t.Fatalf("the error contains a secret: %q", message)
			}
			if i := strings.IndexFunc(message, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }); i >= 0 {
				t.Fatalf("the error contains a control character at %d: %q", i, message)
			}
		}
	})
}
