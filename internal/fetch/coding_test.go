package fetch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
)

// gzipped packs a text; the comment is in the header, outside of it.
func gzipped(text, comment string) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Comment = comment
	_, _ = io.WriteString(z, text) // a buffer takes everything
	_ = z.Close()
	return out.Bytes()
}

// zstandard packs a text into one frame that says its size.
func zstandard(text string) []byte {
	z, _ := zstd.NewWriter(nil)
	return z.EncodeAll([]byte(text), nil)
}

// skippable is a frame of zstd that a decoder skips.
func skippable(text string) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte{0x50, 0x2a, 0x4d, 0x18}, uint32(len(text))), text...)
}

// streamed packs a text into a frame that does not say its size.
func streamed(text string) []byte {
	var out bytes.Buffer
	z, _ := zstd.NewWriter(&out)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return out.Bytes()
}

// coded answers with bytes that it says to be in a coding.
func coded(packed []byte, codings ...string) http.HandlerFunc {
	return codedStatus(http.StatusOK, packed, codings...)
}

func codedStatus(code int, packed []byte, codings ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Encoding"] = codings
		w.WriteHeader(code)
		_, _ = w.Write(packed)
	}
}

// wished notes what each request accepts.
func wished(h http.Handler, wishes *[]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		*wishes = append(*wishes, r.Header.Get("Accept-Encoding"))
		h.ServeHTTP(w, r)
	}
}

// pageText is JSON as a list answers it.
var pageText = `{"records":[` + strings.TrimSuffix(strings.Repeat(`{"id":"a","price":12.5},`, 4000), ",") + `]}`

func TestPackedAnswersLandAsTheyCame(t *testing.T) {
	for name, c := range map[string]struct {
		packed   []byte
		header   []string
		encoding string
	}{
		"gzip":                  {gzipped(pageText, ""), []string{"gzip"}, "gzip"},
		"gzip, other spelling":  {gzipped(pageText, ""), []string{" X-GZIP "}, "gzip"},
		"gzip of two members":   {slices.Concat(gzipped(pageText[:9], ""), gzipped(pageText[9:], "")), []string{"gzip"}, "gzip"},
		"zstd":                  {zstandard(pageText), []string{"zstd"}, "zstd"},
		"zstd without a size":   {streamed(pageText), []string{"ZSTD"}, "zstd"},
		"gzip with a comment":   {gzipped(pageText, "of the service"), []string{"gzip"}, "gzip"},
		"zstd, a frame skipped": {slices.Concat(skippable("a"), zstandard(pageText)), []string{"zstd"}, "zstd"},
		"zstd of two frames":    {slices.Concat(streamed(pageText[:9]), zstandard(pageText[9:])), []string{"zstd"}, "zstd"},
		"plain":                 {[]byte(pageText), nil, "s2"},
		"identity":              {[]byte(pageText), []string{"identity"}, "s2"},
	} {
		t.Run(name, func(t *testing.T) { checkLandedAsItCame(t, pageText, c.packed, c.header, c.encoding) })
	}
	long, blank := strings.Repeat(pageText, 20), strings.Repeat(" ", 1<<20)
	for name, text := range map[string]string{"many blocks": long, "blocks of one letter": blank, "blocks of all types": blank + long + blank} {
		t.Run(name, func(t *testing.T) { checkLandedAsItCame(t, text, streamed(text), []string{"zstd"}, "zstd") })
	}
}

// checkLandedAsItCame asks for a text that comes packed, and once more for what landed.
func checkLandedAsItCame(t *testing.T, text string, packed []byte, header []string, encoding string) {
	t.Helper()
	dir := t.TempDir()
	l := open(t, dir, fetch.LandingOptions{})
	c1 := client(t, served(t, coded(packed, header...)), l)
	var read string
	for range 2 {
		_, err := c1.Get(t.Context(), page(1, 1), func(_ context.Context, r fetch.Response) (stream.PageFacts, error) {
			read = string(r.Body)
			return stream.PageFacts{}, nil
		})
		if err != nil || read != text {
			t.Fatalf("read %.40q: %v", read, err)
		}
	}
	if m := c1.Telemetry()[0]; m.Bytes != int64(len(packed)) || m.Hits != 1 {
		t.Errorf("received %d bytes and hit %d times, want %d and 1", m.Bytes, m.Hits, len(packed))
	}
	shut(t, l)
	kept, err := os.ReadFile(filepath.Join(dir, "000001.bodies"))
	if err != nil || encoding != "s2" && !bytes.Equal(kept, packed) {
		t.Errorf("other bytes landed than those that came: %v", err)
	}
	journal, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	if err != nil || !bytes.Contains(journal, fmt.Appendf(nil, `"encoding":%q`, encoding)) {
		t.Errorf("journal is %s: %v", journal, err)
	}
}

// TestWhatCannotBeUnpackedIsAskedForPlain answers with lies: none is read, and what is
// asked for next is a plain answer.
func TestWhatCannotBeUnpackedIsAskedForPlain(t *testing.T) {
	good, text := zstandard(pageText), []byte(`{"id":"a"}`)
	for name, c := range map[string]struct {
		packed []byte
		header []string
		want   string
	}{
		"plain named gzip":        {text, []string{"gzip"}, "cannot be read as gzip"},
		"plain named zstd":        {text, []string{"zstd"}, "cannot be read as zstd"},
		"gzip named zstd":         {gzipped(pageText, ""), []string{"zstd"}, "cannot be read as zstd"},
		"nothing named gzip":      {nil, []string{"gzip"}, "cannot be read as gzip"},
		"nothing named zstd":      {nil, []string{"zstd"}, "cannot be read as zstd: unexpected EOF"},
		"gzip cut off":            {gzipped(pageText, "")[:100], []string{"gzip"}, "cannot be read as gzip: unexpected EOF"},
		"gzip without its sum":    {gzipped(pageText, "")[:len(gzipped(pageText, ""))-8], []string{"gzip"}, "cannot be read as gzip"},
		"zstd cut off":            {good[:len(good)/2], []string{"zstd"}, "cannot be read as zstd: unexpected EOF"},
		"a second member cut off": {slices.Concat(gzipped(pageText, ""), gzipped(" ", "")[:12]), []string{"gzip"}, "cannot be read as gzip: unexpected EOF"},
		"text behind gzip":        {slices.Concat(gzipped(pageText, ""), text), []string{"gzip"}, "cannot be read as gzip"},
		"text behind zstd":        {slices.Concat(good, text), []string{"zstd"}, "cannot be read as zstd"},
		"a byte changed":          {slices.Concat(good[:40], []byte{good[40] ^ 4}, good[41:]), []string{"zstd"}, "cannot be read as zstd"},
		// Its window is 4 GiB, and it contains a byte.
		"zstd of a huge window":    {[]byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xb0, 0x09, 0, 0, 'x'}, []string{"zstd"}, "cannot be read as zstd: window size exceeded"},
		"br":                       {text, []string{"br"}, "a content encoding that was not asked for"},
		"zstd in gzip":             {gzipped(string(good), ""), []string{"zstd, gzip"}, "a content encoding that was not asked for"},
		"zstd in gzip, in 2 lines": {gzipped(string(good), ""), []string{"zstd", "gzip"}, "a content encoding that was not asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			var wishes []string
			lie := coded(c.packed, c.header...)
			checkError(t, one(t, client(t, served(t, wished(play(lie, body(`{"id":"a"}`)), &wishes)), nil)), "")
			if got := strings.Join(wishes, " then "); got != "zstd, gzip then identity" {
				t.Errorf("asked for %s", got)
			}
			dir := t.TempDir()
			checkError(t, one(t, client(t, served(t, lie), landing(t, dir))), c.want)
			checkLines(t, dir, 0)
		})
	}
}

// TestAPackedAnswerIsNotAskedForAgainAfterALie lets the plain attempt fail too, for another
// reason.
func TestAPackedAnswerIsNotAskedForAgainAfterALie(t *testing.T) {
	var wishes []string
	short := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"id":`)
	}
	answers := play(coded([]byte("no gzip"), "gzip"), short, body(`{"id":"a"}`))
	checkError(t, one(t, client(t, served(t, wished(answers, &wishes)), nil)), "")
	if got := strings.Join(wishes, " then "); got != "zstd, gzip then identity then identity" {
		t.Errorf("asked for %s", got)
	}
}

func TestPackedBodiesThatExplodeMeetTheLimit(t *testing.T) {
	const limit = 8 << 20
	blank := strings.Repeat(" ", 40<<20)
	bomb := gzipped(blank, "")
	// These frames claim 256 MiB and 4 GiB and contain a byte.
	liar := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x10, 0x09, 0, 0, 'x'}
	greater := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 1, 0, 0, 0, 0x09, 0, 0, 'x'}
	small := bytes.Clone(bomb)
	copy(small[len(small)-4:], []byte{1, 0, 0, 0}) // it says that one byte comes
	for name, h := range map[string]http.HandlerFunc{
		"gzip":                     coded(bomb, "gzip"),
		"gzip that says less":      coded(small, "gzip"),
		"gzip of many members":     coded(bytes.Repeat(gzipped(blank[:1<<18], ""), 100), "gzip"),
		"zstd":                     coded(zstandard(blank), "zstd"),
		"zstd without a size":      coded(streamed(blank), "zstd"),
		"zstd that claims 256 MiB": coded(liar, "zstd"),
		"zstd that claims 4 GiB":   coded(greater, "zstd"),
		"more packed than is due":  coded(gzipped(strings.Repeat("x", limit), string(bytes.Repeat([]byte("c"), limit+1))), "gzip"),
	} {
		t.Run(name, func(t *testing.T) {
			cfg := served(t, h)
			cfg.MaxBody = limit
			c := client(t, cfg, nil)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := one(t, c)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, fetch.ErrTooLarge) {
				t.Errorf("got %v", err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 16*limit {
				t.Errorf("allocated %d bytes", used)
			}
		})
	}
}

func TestNoTokenIsLandedPacked(t *testing.T) {
	echo := `{"id":"` + token + `"}`
	for name, h := range map[string]http.HandlerFunc{
		"gzip":              coded(gzipped(echo, ""), "gzip"),
		"zstd":              coded(zstandard(echo), "zstd"),
		"a comment of gzip": coded(gzipped(`{"id":"<secret>"}`, token), "gzip"),
		"a skippable frame": coded(slices.Concat(zstandard(`{"id":"<secret>"}`), skippable(token)), "zstd"),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := landing(t, dir)
			checkError(t, one(t, client(t, served(t, h), l)), "")
			for r, err := range l.Replay() {
				if err != nil || string(r.Body) != `{"id":"<secret>"}` {
					t.Errorf("landed %s: %v", r.Body, err)
				}
			}
			kept, err := os.ReadFile(filepath.Join(dir, "000001.bodies"))
			if err != nil || bytes.Contains(kept, []byte(token)) || !bytes.Contains(kept, []byte("<secret>")) {
				t.Errorf("the file holds %q: %v", kept, err)
			}
		})
	}
}

// TestNoErrorShowsATokenThatCameAsACoding echoes the token in the header: neither the whole
// of it nor its beginning is shown, in letters of any case.
func TestNoErrorShowsATokenThatCameAsACoding(t *testing.T) {
	const secret = "pc_LIVE_4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"
	cfg := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		_, _ = io.WriteString(w, `{"id":"a"}`)
	}))
	cfg.Token = func(context.Context) (string, error) { return secret, nil }
	err := one(t, client(t, cfg, nil))
	checkError(t, err, "a content encoding that was not asked for")
	if strings.Contains(strings.ToLower(err.Error()), "pc_live") {
		t.Errorf("the error shows how the token begins: %v", err)
	}
}

func TestPackedRefusalsAreShown(t *testing.T) {
	reason := "no such thing for " + token + strings.Repeat(" at all", 100)
	for name, packed := range map[string][]byte{"gzip": gzipped(reason, ""), "zstd": zstandard(reason)} {
		for _, code := range []int{400, 403, 500} {
			err := one(t, client(t, served(t, codedStatus(code, packed, name)), nil))
			checkError(t, err, `body begins "no such thing for <secret> at all`)
		}
		err := one(t, client(t, served(t, codedStatus(404, packed, name)), landing(t, t.TempDir())))
		if !is[*fetch.GoneError](err) {
			t.Errorf("a packed 404 gives %v", err)
		}
	}
	huge := bytes.Repeat(gzipped(strings.Repeat("x", 1<<20), ""), 100)
	checkError(t, one(t, client(t, served(t, codedStatus(400, huge, "gzip")), nil)), `body begins "xxxx`)
	for _, lie := range []string{"gzip", "zstd", "br"} {
		err := one(t, client(t, served(t, codedStatus(400, []byte("\x00plain "+token), lie)), nil))
		if checkError(t, err, "answered 400"); strings.Contains(err.Error(), "plain") {
			t.Errorf("what cannot be unpacked is shown: %v", err)
		}
	}
}

// TestRotIsFoundInEveryBit changes each byte of packed bodies, also those that do
// not change what comes out.
func TestRotIsFoundInEveryBit(t *testing.T) {
	const text = `{"records":[{"id":"a"},{"id":"b"}]}`
	for encoding, packed := range map[string][]byte{"gzip": gzipped(text, "a comment"), "zstd": streamed(text), "": nil} {
		dir := t.TempDir()
		l := open(t, dir, unsynced())
		r := fetch.Response{Request: page(1, 1), Status: http.StatusOK, Body: []byte(text), Packed: packed, Encoding: encoding}
		if _, err := l.Append(r, time.Now(), 0); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "000001.bodies")
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for at := range whole {
			rotten := bytes.Clone(whole)
			rotten[at] ^= 1 << (at % 8)
			if err := os.WriteFile(path, rotten, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, found := l.Lookup(page(1, 1), nil); found {
				t.Errorf("byte %d of %q rots unseen", at, encoding)
			}
			if c, err := fetch.CheckLanding(dir); err != nil || c.Damaged != 1 {
				t.Errorf("byte %d of %q: checked %+v: %v", at, encoding, c, err)
			}
		}
		shut(t, l)
	}
}

// TestLandingsOfOlderVersionsAreRead opens a landing that an older version wrote, in
// zstd frames, and goes on with it.
func TestLandingsOfOlderVersionsAreRead(t *testing.T) {
	dir := copyDir(t, filepath.Join("testdata", "older"))
	if c, err := fetch.CheckLanding(dir); err != nil || c.Answers != 12 || c.Damaged != 0 {
		t.Errorf("checked %+v: %v", c, err)
	}
	for range 2 {
		l := open(t, dir, fetch.LandingOptions{})
		if found := landed(t, l, 12); len(found) != 12 || countAnswers(l) < 12 {
			t.Errorf("found %v", found)
		}
		land(t, l, 13, 14)
		if found := landed(t, l, 14); len(found) != 14 {
			t.Errorf("found %v after landing more", found)
		}
		shut(t, l)
	}
	files, err := filepath.Glob(filepath.Join(dir, "0*"))
	if want := []string{"000001.zst", "000002.zst", "000003.bodies"}; err != nil || len(files) != 3 ||
		filepath.Base(files[0]) != want[0] || filepath.Base(files[1]) != want[1] || filepath.Base(files[2]) != want[2] {
		t.Errorf("the landing has %v, want %v: %v", files, want, err)
	}
	older, err := os.ReadFile(filepath.Join("testdata", "older", "000002.zst"))
	kept, err2 := os.ReadFile(files[1])
	if err := errors.Join(err, err2); err != nil || !bytes.Equal(older, kept) {
		t.Errorf("the older file was changed: %v", err)
	}
}
