package fetch_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"placementsync/internal/fetch"
)

// TestReplacedResponseIsNotUsedAgain damages each line of a journal in which two responses were
// replaced. The replaced responses must not be used again.
func TestReplacedResponseIsNotUsedAgain(t *testing.T) {
	dir := t.TempDir()
	l := openLanding(t, dir, withoutSync())
	for _, response := range []struct {
		request int
		body    string
	}{{1, "old first"}, {2, "old second"}, {3, "third"}, {1, "first"}, {2, "second"}, {4, "fourth"}} {
		if _, err := l.Append(fetch.Response{Request: testRequest(response.request), Status: 200, Body: []byte(response.body)}, time.Now(), 0); err != nil {
			t.Fatal(err)
		}
	}
	closeLanding(t, l)
	journal, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(journal, []byte("\n"))
	for i, want := range [][]string{{"first", "second", "third", "fourth"}, {"first", "second", "third", "fourth"}, {"first", "second", "", "fourth"},
		{"", "second", "third", "fourth"}, {"first", "", "third", "fourth"}, {"first", "second", "third", ""}} {
		damaged := slices.Clone(lines)
		damaged[i] = append([]byte("!"), lines[i][1:]...)
		copied := copyDir(t, dir)
		if err := os.WriteFile(filepath.Join(copied, "journal.jsonl"), bytes.Join(damaged, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		checkReplaced(t, copied, i+1)
		for range 2 { // the first opening removes the damaged line
			l := openLanding(t, copied, withoutSync())
			for q, body := range want {
				r, _ := l.Lookup(testRequest(q + 1))
				if string(r.Body) != body {
					t.Errorf("with damaged line %d, the response to request %d is %q, want %q", i+1, q+1, r.Body, body)
				}
			}
			closeLanding(t, l)
		}
	}
}

// checkReplaced checks that every replaced response of a damaged landing is marked as replaced, and that
// the damaged line is counted.
func checkReplaced(t *testing.T, dir string, line int) {
	t.Helper()
	stored, err := fetch.OpenStoredResponses(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	for response, err := range stored.All() {
		if err == nil && response.Seq < 3 && !response.Replaced {
			t.Errorf("with damaged line %d, the response with seq %d is not marked as replaced", line, response.Seq)
		}
	}
	l := openLanding(t, copyDir(t, dir), withoutSync())
	defer closeLanding(t, l)
	if l.Damaged() != 1 {
		t.Errorf("with damaged line %d, Damaged returned %d, want 1", line, l.Damaged())
	}
}
