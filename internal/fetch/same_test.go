package fetch_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"placementsync/internal/fetch"
)

// pageRequest returns the request for a page of a list.
func pageRequest(pass, number int) fetch.Request {
	return fetch.Request{Stream: "list", Path: "/list", Pass: pass, Page: number}
}

// appendBody stores a body and returns the response.
func appendBody(t *testing.T, l *fetch.Landing, r fetch.Request, text string) fetch.Response {
	t.Helper()
	got, err := l.Append(fetch.Response{Request: r, Status: http.StatusOK, Body: []byte(text)}, time.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// storedBytes returns the number of bytes of all stored bodies of a landing.
func storedBytes(t *testing.T, dir string) (n int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "0*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

func TestIdenticalBodiesAreStoredOnce(t *testing.T) {
	dir := t.TempDir()
	l := openLanding(t, dir, fetch.LandingOptions{SegmentBytes: 40})
	for i, body := range []string{bodyText(40), bodyText(41), bodyText(42)} {
		if got := appendBody(t, l, pageRequest(1, i+1), body); got.Seq != uint64(i+1) || got.Same != 0 {
			t.Errorf("page %d has seq %d and is the same as %d, want seq %[1]d and no earlier response", i+1, got.Seq, got.Same)
		}
	}
	before := storedBytes(t, dir)
	if got := appendBody(t, l, pageRequest(2, 1), bodyText(41)); got.Seq != 4 || got.Same != 2 {
		t.Errorf("the second copy has seq %d and is the same as %d, want 4 and 2", got.Seq, got.Same)
	}
	if after := storedBytes(t, dir); after != before {
		t.Errorf("the second copy takes %d bytes, want none", after-before)
	}
	closeLanding(t, l)

	l = openLanding(t, dir, fetch.LandingOptions{})
	for number := 1; number <= 3; number++ {
		if got, ok := l.Lookup(pageRequest(1, number)); !ok || got.Same != 0 {
			t.Errorf("page %d: found %v, same as %d, want no earlier response", number, ok, got.Same)
		}
	}
	if got, ok := l.Lookup(pageRequest(2, 1)); !ok || got.Seq != 4 || got.Same != 2 || string(got.Body) != bodyText(41) {
		t.Errorf("the second copy: found %v, seq %d, same as %d, want seq 4, same as 2", ok, got.Seq, got.Same)
	}
	if got := appendBody(t, l, pageRequest(2, 2), bodyText(42)); got.Same != 3 {
		t.Errorf("a copy of a response stored before the reopening is the same as %d, want 3", got.Same)
	}
	var same []uint64
	for _, response := range storedResponses(t, dir) {
		if response.body != bodyText(int([]int{0, 40, 41, 42, 41, 42}[response.Seq])) {
			t.Errorf("listed response %d as %q, want the body that was stored", response.Seq, response.body)
		}
		same = append(same, response.Same)
	}
	if len(same) != 5 || same[3] != 2 || same[4] != 3 {
		t.Errorf("listed Same values %v, want 2 and 3 at the end", same)
	}
	closeLanding(t, l)
	c, err := fetch.VerifyLanding(dir)
	if err != nil || c.Responses != 5 || c.Damaged != 0 || c.Bytes != before {
		t.Errorf("VerifyLanding returned %+v (%v), want 5 responses of %d bytes without damage", c, err, before)
	}
}

func TestOnlyPagesOfOneListShareBodies(t *testing.T) {
	l := testLanding(t, t.TempDir())
	appendBody(t, l, pageRequest(1, 1), bodyText(9))
	single := fetch.Request{Stream: "list", Path: "/list"}
	for _, r := range []fetch.Request{
		{Stream: "other", Path: "/list", Pass: 1, Page: 1},
		{Stream: "list", Path: "/list/{id}", Param: "a", Pass: 1, Page: 1},
		single, single,
	} {
		if got := appendBody(t, l, r, bodyText(9)); got.Same != 0 {
			t.Errorf("the response to %+v is the same as %d, want no earlier response", r, got.Same)
		}
	}
}

// TestDamagedBodyIsNotShared damages the only copy of a body. The next response with this body must
// be stored again.
func TestDamagedBodyIsNotShared(t *testing.T) {
	dir := t.TempDir()
	l := openLanding(t, dir, fetch.LandingOptions{})
	appendBody(t, l, pageRequest(1, 1), bodyText(50))
	appendBody(t, l, pageRequest(2, 1), bodyText(50))
	files, err := filepath.Glob(filepath.Join(dir, "0*"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	for pass := 1; pass <= 2; pass++ {
		if _, ok := l.Lookup(pageRequest(pass, 1)); ok {
			t.Errorf("pass %d is found although its body is damaged", pass)
		}
	}
	if got := appendBody(t, l, pageRequest(1, 1), bodyText(50)); got.Same != 0 {
		t.Errorf("the new copy is the same as the damaged response %d, want no earlier response", got.Same)
	}
	if got := appendBody(t, l, pageRequest(2, 1), bodyText(50)); got.Same != 3 {
		t.Errorf("the next copy is the same as %d, want 3", got.Same)
	}
	for pass := 1; pass <= 2; pass++ {
		if got, ok := l.Lookup(pageRequest(pass, 1)); !ok || string(got.Body) != bodyText(50) {
			t.Errorf("pass %d: found %v, body %q, want the stored body", pass, ok, got.Body)
		}
	}
	closeLanding(t, l)
}
