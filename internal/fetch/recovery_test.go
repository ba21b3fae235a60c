package fetch_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/testing/harness"
)

// TestDamagedFilesOfAStore truncates the last line of the journal and the bodies at each byte, and changes bytes of
// both.
func TestDamagedFilesOfAStore(t *testing.T) {
	store := newTornStore(t, 3)
	journalLength, segmentLength := uint(len(store.journal)), uint(len(store.segment))
	lastLine := bytes.LastIndexByte(store.journal[:journalLength-1], '\n') + 1
	for cut := uint(lastLine); cut < journalLength; cut++ {
		store.check(t, storeDamage{journalLength: cut, segmentLength: segmentLength})
	}
	for cut := range segmentLength {
		store.check(t, storeDamage{journalLength: journalLength, segmentLength: cut})
	}
	for at := uint(0); at < journalLength; at += 5 {
		store.check(t, storeDamage{journalLength: journalLength, segmentLength: segmentLength, change: 1 << (at % 8), at: at})
	}
	for at := uint(0); at < segmentLength; at += 3 {
		store.check(t, storeDamage{journalLength: journalLength, segmentLength: segmentLength, change: 1 << (at % 8), at: at, inSegment: true})
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
		if n := l.Responses(); n != 3 {
			t.Errorf("the store counts %d responses, want 3: verify would report the others as lost", n)
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
	harness.Must(t, os.Remove(second))
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
	harness.Must(t, err)
	if got := bytes.Count(text, []byte("\n")); got != want {
		t.Errorf("the journal has %d lines, want %d", got, want)
	}
}

// damageFile changes one byte of a file.
func damageFile(t *testing.T, path string, at int) {
	t.Helper()
	content, err := os.ReadFile(path)
	harness.Must(t, err)
	content[at] ^= 1
	harness.Must(t, os.WriteFile(path, content, 0o600))
}

// checkLost compares the number of lost responses of a store in which the run stored three responses.
func checkLost(t *testing.T, dir string, want int) {
	t.Helper()
	if c, err := fetch.VerifyResponses(dir, 3); err != nil || c.Lost != want {
		t.Errorf("VerifyResponses returned %+v (%v), want %d lost responses", c, err, want)
	}
}

// TestDamagedLineIsReportedOnce damages a line in the middle of the journal. After a resumed run requested its
// response again, no response is lost, until the file of the bodies is removed.
func TestDamagedLineIsReportedOnce(t *testing.T) {
	t.Run("all bodies are verified", func(t *testing.T) { checkDamagedLine(t, withoutSync()) })
	t.Run("the last bodies are verified", func(t *testing.T) { checkDamagedLine(t, fetch.StoreOptions{SyncBytes: 1}) })
}

func checkDamagedLine(t *testing.T, options fetch.StoreOptions) {
	t.Helper()
	dir := t.TempDir()
	l := openStore(t, dir, options)
	storeResponses(t, l, 3, 5)
	closeStore(t, l)
	journal := filepath.Join(dir, "journal.jsonl")
	text, err := os.ReadFile(journal)
	harness.Must(t, err)
	damageFile(t, journal, len(text)/2)
	checkLost(t, dir, 1)
	if c, err := fetch.VerifyResponses(dir, 0); err != nil || c.Lost != 1 || c.Responses != 2 {
		t.Errorf("without a known number, VerifyResponses returned %+v (%v), want 2 responses and the damaged line", c, err)
	}
	for _, damaged := range []int{1, 0} {
		l = openStore(t, dir, options)
		if l.Damaged() != damaged {
			t.Errorf("the journal has %d damaged lines, want %d", l.Damaged(), damaged)
		}
		storeResponses(t, l, 4, 4)
		closeStore(t, l)
		checkLost(t, dir, 0)
	}
	harness.Must(t, os.Remove(filepath.Join(dir, "000001.bodies")))
	checkLost(t, dir, 3+1) // the journal has two lines of response 4
}

// TestMissingLinesAreLost removes the last lines of a journal. The rest has no damage, but two of the stored responses
// are lost.
func TestMissingLinesAreLost(t *testing.T) {
	dir := t.TempDir()
	l := openStore(t, dir, withoutSync())
	storeResponses(t, l, 1, 3)
	closeStore(t, l)
	checkLost(t, dir, 0)
	journal := filepath.Join(dir, "journal.jsonl")
	text, err := os.ReadFile(journal)
	harness.Must(t, err)
	firstLine, _, _ := bytes.Cut(text, []byte("\n"))
	harness.Must(t, os.Truncate(journal, int64(len(firstLine)+1)))
	checkLost(t, dir, 2)
}

// TestVerifyAfterAKill appends half a line to a journal, as a killed run does. No stored response is lost.
func TestVerifyAfterAKill(t *testing.T) {
	dir := t.TempDir()
	l := openStore(t, dir, withoutSync())
	storeResponses(t, l, 18, 19)
	closeStore(t, l)
	bodies, err := os.Stat(filepath.Join(dir, "000001.bodies"))
	harness.Must(t, err)
	journal, err := os.OpenFile(filepath.Join(dir, "journal.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	harness.Must(t, err)
	_, err = journal.WriteString(`{"seq":3,`)
	harness.Must(t, errors.Join(err, journal.Close()))
	want := fetch.ResponseCounts{Responses: 2, Bytes: bodies.Size()}
	if c, err := fetch.VerifyResponses(dir, 2); err != nil || c != want {
		t.Errorf("VerifyResponses returned %+v (%v), want %+v", c, err, want)
	}
	stored, err := fetch.OpenStoredResponses(dir)
	harness.Must(t, err)
	for range stored.All() {
		break // a reader may stop early
	}
	harness.Must(t, stored.Close())
}

// TestBodiesOfTheLastTwoSyncsAreVerified damages a body that is more than SyncBytes before the end, with all bodies in one
// file, with a file for each body, and without syncs. A power cut can damage the body, because its sync may still have
// been running. The response is removed, so that it is not reported as lost.
func TestBodiesOfTheLastTwoSyncsAreVerified(t *testing.T) {
	for _, options := range []fetch.StoreOptions{{SyncBytes: 200}, {SyncBytes: 200, SegmentBytes: 1}, withoutSync()} {
		dir := t.TempDir()
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
		damaged := storedResponses(t, dir)[1]
		const withinBody = 20
		damageFile(t, filepath.Join(dir, fmt.Sprintf("%06d.bodies", damaged.Segment+1)), int(damaged.Offset)+withinBody)
		closeStore(t, openStore(t, dir, options))
		checkLost(t, dir, 0)
	}
}

// TestEndOfTheJournal removes the line break of the last line, and then damages this line. A line without its break is
// incomplete: the next line would be appended to it.
func TestEndOfTheJournal(t *testing.T) {
	dir := t.TempDir()
	l := openStore(t, dir, withoutSync())
	storeResponses(t, l, 3, 4)
	closeStore(t, l)
	journal := filepath.Join(dir, "journal.jsonl")
	info, err := os.Stat(journal)
	harness.Must(t, err)
	harness.Must(t, os.Truncate(journal, info.Size()-1))
	for _, first := range []int{4, 6} {
		l = openStore(t, dir, withoutSync())
		if l.Damaged() != 0 {
			t.Errorf("%d lines are damaged, want none: the last one was incomplete", l.Damaged())
		}
		storeResponses(t, l, first, 5)
		if got := len(lookupAll(t, l, 5)); got != 3 {
			t.Errorf("found %d responses, want 3", got)
		}
		closeStore(t, l)
	}
	text, err := os.ReadFile(journal)
	harness.Must(t, err)
	damageFile(t, journal, len(text)-2)
	l = openStore(t, dir, withoutSync())
	if l.Damaged() != 1 {
		t.Errorf("%d lines are damaged, want the last one", l.Damaged())
	}
	closeStore(t, l)
}

// TestRemainsOfAKillAreRemoved opens a store whose last body has no line, and a store whose last files are missing.
func TestRemainsOfAKillAreRemoved(t *testing.T) {
	dir := t.TempDir()
	options := fetch.StoreOptions{SegmentBytes: 1, SyncBytes: 1}
	l := openStore(t, dir, options)
	storeResponses(t, l, 3, 5)
	closeStore(t, l)
	last := filepath.Join(dir, "000003.bodies")
	info, err := os.Stat(last)
	harness.Must(t, err)
	harness.Must(t, os.Truncate(last, info.Size()+1000))
	closeStore(t, openStore(t, dir, options))
	if now, err := os.Stat(last); err != nil || now.Size() != info.Size() {
		t.Errorf("the file of bodies has %d bytes (%v), want %d", now.Size(), err, info.Size())
	}
	harness.Must(t, errors.Join(os.Remove(last), os.Remove(filepath.Join(dir, "000002.bodies"))))
	l = openStore(t, dir, options)
	if found := lookupAll(t, l, 5); len(found) != 1 || l.Responses() != 1 {
		t.Errorf("found the responses %v of %d, want the one whose body is left", found, l.Responses())
	}
	closeStore(t, l)
}
