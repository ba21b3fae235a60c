package fetch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
)

func question(i int) fetch.Request {
	return fetch.Request{Stream: "s", Path: "/x/{id}", Param: fmt.Sprint("p", i), Query: "a=b", Pass: 1, Page: i}
}

func text(i int) string { return strings.Repeat(fmt.Sprintf(`{"id":"%d"}`, i), i) }

// land lands answers from to to; answer 2 is a 404.
func land(t *testing.T, l *fetch.Landing, from, to int) {
	t.Helper()
	for i := from; i <= to; i++ {
		r := fetch.Response{Request: question(i), Status: http.StatusOK, Body: []byte(text(i))}
		if i == 2 {
			r.Status, r.Body = http.StatusNotFound, nil
		}
		if _, err := l.Append(r, time.Now(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

// countAnswers counts the answers that a landing replays.
func countAnswers(l *fetch.Landing) (n int) {
	for range l.Replay() {
		n++
	}
	return n
}

// landed is what a landing holds of the first n answers; each must be right.
func landed(t *testing.T, l *fetch.Landing, n int) (found []int) {
	t.Helper()
	for i := 1; i <= n; i++ {
		r, ok := l.Lookup(question(i), nil)
		if !ok {
			continue
		}
		found = append(found, i)
		want := text(i)
		if i == 2 {
			want = ""
		}
		if string(r.Body) != want || (r.Status == http.StatusNotFound) != (i == 2) || !r.Landed {
			t.Errorf("answer %d is %d %q", i, r.Status, r.Body)
		}
	}
	return found
}

func open(t *testing.T, dir string, options fetch.LandingOptions) *fetch.Landing {
	t.Helper()
	l, err := fetch.OpenLanding(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func shut(t *testing.T, l *fetch.Landing) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestALandingKeepsWhatLanded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "raw", "run")
	small := fetch.LandingOptions{SegmentBytes: 100, SyncBytes: 150}
	l := open(t, dir, small)
	land(t, l, 1, 20)
	if got := landed(t, l, 25); len(got) != 20 {
		t.Errorf("found %v before closing", got)
	}
	shut(t, l)
	shut(t, l)

	l = open(t, dir, small)
	land(t, l, 21, 25)
	if got := landed(t, l, 25); len(got) != 25 || countAnswers(l) != 25 {
		t.Errorf("found %v after reopening", got)
	}
	var seqs []uint64
	for r, err := range l.Replay() {
		if err != nil || r.Page != int(r.Seq) {
			t.Errorf("replayed %+v: %v", r.Request, err)
		}
		seqs = append(seqs, r.Seq)
	}
	if len(seqs) != 25 || seqs[24] != 25 {
		t.Errorf("replayed %v, want 1 to 25", seqs)
	}
	shut(t, l)
	checkModes(t, dir)
}

func checkModes(t *testing.T, dir string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if want := map[bool]os.FileMode{true: 0o700, false: 0o600}[info.IsDir()]; info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTheLastCopyOfAnAnswerCounts(t *testing.T) {
	l := landing(t, t.TempDir())
	for _, b := range []string{"first", "second"} {
		if _, err := l.Append(fetch.Response{Request: question(1), Status: 200, Body: []byte(b)}, time.Now(), 0); err != nil {
			t.Fatal(err)
		}
	}
	if r, ok := l.Lookup(question(1), nil); !ok || string(r.Body) != "second" || r.Seq != 2 {
		t.Errorf("found %q with seq %d", r.Body, r.Seq)
	}
	n := 0
	for r, err := range l.Replay() {
		if n++; err != nil || string(r.Body) != "second" {
			t.Errorf("replayed %q: %v", r.Body, err)
		}
	}
	if n != 1 {
		t.Errorf("replayed %d answers, want 1", n)
	}
}

// copyDir copies a flat folder.
func copyDir(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// unsynced spares the tests that open thousands of landings the disk.
func unsynced() fetch.LandingOptions { return fetch.LandingOptions{SyncBytes: -1} }

func TestATornLandingLosesItsTailOnly(t *testing.T) {
	const n = 3
	dir := t.TempDir()
	l := open(t, dir, unsynced())
	land(t, l, 1, n)
	shut(t, l)
	for _, name := range []string{"journal.jsonl", "000001.bodies"} {
		whole, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			for cut := range len(whole) {
				torn := copyDir(t, dir)
				if err := os.WriteFile(filepath.Join(torn, name), whole[:cut], 0o600); err != nil {
					t.Fatal(err)
				}
				mends(t, torn, n)
			}
		})
	}
}

// mends opens a damaged landing, checks that a prefix of the answers is there
// and right, lands the rest again and checks that all is well for good.
func mends(t *testing.T, dir string, n int) {
	t.Helper()
	l := open(t, dir, unsynced())
	found := landed(t, l, n)
	for i, answer := range found {
		if answer != i+1 {
			t.Fatalf("found %v, want a prefix", found)
		}
	}
	land(t, l, len(found)+1, n)
	shut(t, l)
	l = open(t, dir, unsynced())
	defer shut(t, l)
	if again := landed(t, l, n); len(again) != n {
		t.Fatalf("found %v after mending %v", again, found)
	}
	last := uint64(0)
	for r, err := range l.Replay() {
		if err != nil || r.Seq <= last {
			t.Fatalf("replayed seq %d after %d: %v", r.Seq, last, err)
		}
		last = r.Seq
	}
}

func TestADamagedLandingNeverGivesAWrongBody(t *testing.T) {
	const n = 4
	dir := t.TempDir()
	l := open(t, dir, unsynced())
	land(t, l, 1, n)
	shut(t, l)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"journal.jsonl", "000001.bodies"} {
		whole, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < len(whole); at += 2 {
			damaged := bytes.Clone(whole)
			damaged[at] ^= byte(1 + rng.IntN(255))
			torn := copyDir(t, dir)
			if err := os.WriteFile(filepath.Join(torn, name), damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			l := open(t, torn, unsynced())
			if found := landed(t, l, n); len(found) < n-2 {
				t.Errorf("byte %d of %s lost all but %v", at, name, found)
			}
			land(t, l, 1, n)
			if found := landed(t, l, n); len(found) != n {
				t.Errorf("byte %d of %s: found %v after landing again", at, name, found)
			}
			shut(t, l)
		}
	}
}

func TestLandingIsSafeForConcurrentUse(t *testing.T) {
	l := open(t, t.TempDir(), fetch.LandingOptions{SegmentBytes: 4096, SyncBytes: 8192})
	var group sync.WaitGroup
	for w := range 8 {
		group.Go(func() {
			for i := range 50 {
				r := fetch.Response{Request: question(w*50 + i), Status: 200, Body: []byte(text(i))}
				if _, err := l.Append(r, time.Now(), 0); err != nil {
					t.Error(err)
				}
				if got, ok := l.Lookup(r.Request, nil); !ok || string(got.Body) != text(i) {
					t.Errorf("lookup of %d found %v", i, ok)
				}
			}
		})
	}
	group.Wait()
	if n := countAnswers(l); n != 400 {
		t.Errorf("landed %d, want 400", n)
	}
	shut(t, l)
	if _, err := l.Append(fetch.Response{Request: question(1)}, time.Now(), 0); !is[*fetch.LandingError](err) {
		t.Errorf("appending after close gives %v", err)
	}
}

func TestAnUnusableFolderIsALandingError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fetch.OpenLanding(path, fetch.LandingOptions{}); !is[*fetch.LandingError](err) {
		t.Errorf("got %v", err)
	}
}

// TestASegmentThatCannotBeReadIsNotTheEnd opens a landing whose second segment is
// there and cannot be looked at: the answers behind it must not be forgotten.
func TestASegmentThatCannotBeReadIsNotTheEnd(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, fetch.LandingOptions{SegmentBytes: 1})
	land(t, l, 3, 5)
	shut(t, l)
	second := filepath.Join(dir, "000002.bodies")
	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("000002.bodies", second); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	_, err := fetch.OpenLanding(dir, fetch.LandingOptions{})
	var broken *fetch.LandingError
	if !errors.As(err, &broken) || !strings.Contains(err.Error(), second) {
		t.Fatalf("got %v, want a LandingError that names %s", err, second)
	}
	checkLines(t, dir, 3)
}

// checkLines compares the number of lines in the journal of a landing.
func checkLines(t *testing.T, dir string, want int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(text, []byte("\n")); got != want {
		t.Errorf("the journal has %d lines, want %d", got, want)
	}
}

func TestAResumedRunAsksOnlyForWhatIsMissing(t *testing.T) {
	s := &shelf{n: 95, dated: true}
	dir := t.TempDir()
	walk := func(h http.Handler) (fetch.Evidence, []string, error) {
		l := open(t, dir, fetch.LandingOptions{})
		defer shut(t, l)
		var got collector
		cfg := quick(h)
		cfg.Concurrency = 1 // else the failure cuts answers off that others were just getting
		e, err := client(t, cfg, l).Walk(t.Context(), ordersStream, "", got.read)
		return e, got.sorted(), err
	}
	broken := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if page := r.URL.Query().Get("page"); page == "7" || page == "8" {
			w.WriteHeader(http.StatusNotImplemented)
			return
		}
		s.ServeHTTP(w, r)
	})
	if _, _, err := walk(broken); !is[*fetch.StatusError](err) {
		t.Fatalf("got %v, want the failure of page 7", err)
	}
	before := s.requests()
	e, ids, err := walk(s)
	if err != nil || e.Grade != fetch.Exact || len(ids) != 95 {
		t.Fatalf("resumed to %+v with %d ids: %v", e, len(ids), err)
	}
	if total := before + s.requests() - before; total != 11 {
		t.Errorf("both runs made %d good requests, want 10 pages and a confirmation: %q", total, s.asked)
	}
	again, ids, err := walk(play(status(500)))
	if diff := cmp.Diff(e, again); err != nil || diff != "" || len(ids) != 95 {
		t.Errorf("walking from the landing alone differs: %v\n%s", err, diff)
	}
}

func TestALandedBodyThatIsMalformedIsAskedForAgain(t *testing.T) {
	l := landing(t, t.TempDir())
	service := play(body("<html>"), body(`{"id":"a"}`))
	cfg := quick(service)
	cfg.Retry.MaxRetries = 0
	checkError(t, one(t, client(t, cfg, l)), "malformed")
	checkError(t, one(t, client(t, cfg, l)), "")
	checkError(t, one(t, client(t, cfg, l)), "")
	if n := service.n.Load(); n != 2 {
		t.Errorf("made %d requests, want 2", n)
	}
}

func TestAnOfflineClientSendsNothing(t *testing.T) {
	service := play(body(`{"id":"a"}`))
	cfg := quick(service)
	cfg.Offline = true
	checkError(t, one(t, client(t, cfg, landing(t, t.TempDir()))), "not landed")
	if service.n.Load() != 0 {
		t.Error("a request was sent")
	}
}

func TestNothingASecretIsLanded(t *testing.T) {
	dir := t.TempDir()
	checkError(t, one(t, client(t, quick(play(body(`{"id":"a"}`))), landing(t, dir))), "")
	journal, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(journal, []byte(token)) {
		t.Errorf("the journal holds the token: %s", journal)
	}
	var line map[string]any
	if err := json.Unmarshal(journal, &line); err != nil || line["stream"] != "token" || line["status"] != 200.0 {
		t.Errorf("the journal line is %s: %v", journal, err)
	}
}

func TestAnEchoedTokenIsNotLanded(t *testing.T) {
	const odd = "pc_with/slash+plus"
	echo := func(w http.ResponseWriter, r *http.Request) {
		sent := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		w.Header().Set("X-Echo", sent)
		fmt.Fprintf(w, `{"id":"a","sent":%q,"header":"Bearer %s","url":"/x?token=%s","slashes":"%s"}`, sent, sent, url.QueryEscape(sent),
			strings.ReplaceAll(sent, "/", `\/`))
	}
	for name, secret := range map[string]string{"plain": token, "odd": odd} {
		t.Run(name, func(t *testing.T) {
			cfg, dir := quick(http.HandlerFunc(echo)), t.TempDir()
			cfg.Token = func(context.Context) (string, error) { return secret, nil }
			l := landing(t, dir)
			var seen string
			_, err := client(t, cfg, l).Get(t.Context(), fetch.Request{Stream: "token", Path: "/auth/token"},
				func(_ context.Context, r fetch.Response) (stream.PageFacts, error) {
					seen = string(r.Body)
					return stream.PageFacts{}, nil
				})
			if err != nil {
				t.Fatal(err)
			}
			const want = `{"id":"a","sent":"<secret>","header":"Bearer <secret>","url":"/x?token=<secret>","slashes":"<secret>"}`
			for r, err := range l.Replay() {
				if err != nil || string(r.Body) != want || seen != want {
					t.Errorf("landed %s, read %s, %v, want %s", r.Body, seen, err, want)
				}
			}
		})
	}
}

func TestTelemetryCounts(t *testing.T) {
	c := client(t, quick(play(status(503), body(`{"id":"a"}`))), landing(t, t.TempDir()))
	for range 3 {
		checkError(t, one(t, c), "")
	}
	m := c.Telemetry()
	if len(m) != 1 || m[0].Stream != "token" || m[0].Requests != 2 || m[0].Retries != 1 || m[0].Hits != 2 {
		t.Errorf("telemetry is %+v", m)
	}
	if m[0].Bytes == 0 || m[0].P50 == 0 || m[0].P50 > m[0].P95 || m[0].P95 > m[0].Max || m[0].First.IsZero() {
		t.Errorf("telemetry is %+v", m)
	}
}

func BenchmarkLanding(b *testing.B) {
	l, err := fetch.OpenLanding(b.TempDir(), fetch.LandingOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	var page strings.Builder
	for i := range 100 {
		fmt.Fprintf(&page, `{"id":"%016x","name":"Full feature in outlet %d","unit_amount":%d.5,"country":"DE"},`, rand.Uint64(), i, rand.IntN(1000))
	}
	r := fetch.Response{Request: question(1), Status: 200, Body: []byte(page.String())}
	b.SetBytes(int64(page.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Append(r, time.Now(), 0); err != nil {
			b.Fatal(err)
		}
	}
}

func TestAFailedSyncIsNeverForgotten(t *testing.T) {
	broken := errors.New("the disk is broken")
	failed := false
	l, err := fetch.OpenLanding(t.TempDir(), fetch.LandingOptions{SyncBytes: 1, Step: func(name string) error {
		if name != "mid fsync of the landing" || failed {
			return nil
		}
		failed = true
		return broken
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := fetch.Response{Request: question(1), Status: http.StatusOK, Body: []byte(text(1))}
	for range 2 {
		if _, err := l.Append(r, time.Now(), time.Millisecond); !errors.Is(err, broken) {
			t.Errorf("append after a failed fsync: got %v, want %v", err, broken)
		}
	}
	if err := l.Close(); !errors.Is(err, broken) {
		t.Errorf("close after a failed fsync: got %v, want %v", err, broken)
	}
}
