package fetch_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"placementsync/internal/fetch"
)

func TestTruncatedStoreLosesOnlyItsEnd(t *testing.T) {
	const n = 3
	dir := t.TempDir()
	l := openStore(t, dir, withoutSync())
	storeResponses(t, l, 1, n)
	closeStore(t, l)
	for _, name := range []string{"journal.jsonl", "000001.bodies"} {
		whole, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			for cut := range len(whole) {
				copied := copyDir(t, dir)
				if err := os.WriteFile(filepath.Join(copied, name), whole[:cut], 0o600); err != nil {
					t.Fatal(err)
				}
				checkRepair(t, copied, n)
			}
		})
	}
}

// checkRepair opens a damaged store and checks that it contains a prefix of the responses. It
// stores the missing responses, reopens the store and checks all of them.
func checkRepair(t *testing.T, dir string, n int) {
	t.Helper()
	l := openStore(t, dir, withoutSync())
	if l.Damaged() > 0 {
		t.Errorf("%d lines are reported as damaged, want none: a killed run can leave an incomplete last line", l.Damaged())
	}
	found := lookupAll(t, l, n)
	for i, number := range found {
		if number != i+1 {
			t.Fatalf("found responses %v, want the responses from 1 on without a gap", found)
		}
	}
	storeResponses(t, l, len(found)+1, n)
	closeStore(t, l)
	l = openStore(t, dir, withoutSync())
	defer closeStore(t, l)
	if again := lookupAll(t, l, n); len(again) != n {
		t.Fatalf("found responses %v before the missing responses were added and %v afterwards, want all %d", found, again, n)
	}
	previous := uint64(0)
	for _, response := range storedResponses(t, dir) {
		if response.Seq <= previous {
			t.Fatalf("listed seq %d after seq %d, want ascending seqs", response.Seq, previous)
		}
		previous = response.Seq
	}
}

func TestDamagedStoreReturnsNoWrongBody(t *testing.T) {
	const n = 4
	dir := t.TempDir()
	l := openStore(t, dir, withoutSync())
	storeResponses(t, l, 1, n)
	closeStore(t, l)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"journal.jsonl", "000001.bodies"} {
		whole, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < len(whole); at += 2 {
			damaged := bytes.Clone(whole)
			damaged[at] ^= byte(1 + rng.IntN(255))
			copied := copyDir(t, dir)
			if err := os.WriteFile(filepath.Join(copied, name), damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			l := openStore(t, copied, withoutSync())
			if found := lookupAll(t, l, n); len(found) < n-2 {
				t.Errorf("after damage of byte %d of %s only responses %v are left, want at least %d of %d", at, name, found, n-2, n)
			}
			storeResponses(t, l, 1, n)
			if found := lookupAll(t, l, n); len(found) != n {
				t.Errorf("byte %d of %s: found responses %v after storing again, want all %d", at, name, found, n)
			}
			closeStore(t, l)
		}
	}
}

// TestIntactLinesSurviveADamagedLine damages the first line of a journal and opens the store twice: the first opening
// writes the other lines again.
func TestIntactLinesSurviveADamagedLine(t *testing.T) {
	dir := t.TempDir()
	l := openStore(t, dir, withoutSync())
	storeResponses(t, l, 1, 4)
	closeStore(t, l)
	damageFile(t, filepath.Join(dir, "journal.jsonl"), 0)
	for range 2 {
		l := openStore(t, dir, withoutSync())
		if found := lookupAll(t, l, 4); len(found) != 3 {
			t.Errorf("found responses %v, want 3", found)
		}
		closeStore(t, l)
	}
}

// TestUnreadableSegmentDoesNotTruncateStore replaces a segment by a link that cannot be opened.
// Opening the store must fail and keep all lines of the journal.
func TestUnreadableSegmentDoesNotTruncateStore(t *testing.T) {
	dir := t.TempDir()
	l := openStore(t, dir, fetch.StoreOptions{SegmentBytes: 1})
	storeResponses(t, l, 3, 5)
	closeStore(t, l)
	second := filepath.Join(dir, "000002.bodies")
	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("000002.bodies", second); err != nil {
		t.Skip("this system has no symbolic links:", err)
	}
	_, err := fetch.OpenResponseStore(dir, fetch.StoreOptions{})
	if !errors.Is(err, fetch.ErrStore) || !strings.Contains(err.Error(), second) {
		t.Fatalf("got %v, want ErrStore that names %s", err, second)
	}
	checkLines(t, dir, 3)
}

// checkLines checks the number of lines in the journal of a store.
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

// damageFile changes one byte of a file.
func damageFile(t *testing.T, path string, at int) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[at] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// checkLost compares the number of lost responses of a store in which the run stored three responses.
func checkLost(t *testing.T, dir string, want int) {
	t.Helper()
	if c, err := fetch.VerifyResponses(dir, 3); err != nil || c.Lost != want {
		t.Errorf("VerifyResponses returned %+v (%v), want %d lost responses", c, err, want)
	}
}

// TestDamagedLineIsReportedOnce damages a line in the middle of the journal. After a resumed run requested its
// response again, nothing is lost.
func TestDamagedLineIsReportedOnce(t *testing.T) {
	dir := t.TempDir()
	l := openStore(t, dir, withoutSync())
	storeResponses(t, l, 3, 5)
	closeStore(t, l)
	journal := filepath.Join(dir, "journal.jsonl")
	text, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	damageFile(t, journal, len(text)/2)
	checkLost(t, dir, 1)
	for _, damaged := range []int{1, 0} {
		l = openStore(t, dir, withoutSync())
		if l.Damaged() != damaged {
			t.Errorf("the journal has %d damaged lines, want %d", l.Damaged(), damaged)
		}
		storeResponses(t, l, 4, 4)
		closeStore(t, l)
		checkLost(t, dir, 0)
	}
}

// TestBodiesOfTheLastTwoSyncsAreVerified damages a body that is more than SyncBytes before the end. A power cut can
// damage it, because its sync may still have been running. The response is removed, so that it is not reported as lost.
func TestBodiesOfTheLastTwoSyncsAreVerified(t *testing.T) {
	dir := t.TempDir()
	options := fetch.StoreOptions{SyncBytes: 200}
	l := openStore(t, dir, options)
	random := rand.NewChaCha8([32]byte{})
	for i := range 4 {
		body := make([]byte, 100) // random, so that it is not compressed
		if _, err := random.Read(body); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(fetch.Response{Request: testRequest(i), Status: http.StatusOK, Body: body}, time.Now(), 0); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, l)
	bodies := filepath.Join(dir, "000001.bodies")
	stored := storedResponses(t, dir)
	damageFile(t, bodies, int(stored[1].Offset)+20)
	closeStore(t, openStore(t, dir, options))
	checkLost(t, dir, 0)
}
