package checksum_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/testing/harness"
)

type sealedValue struct {
	Run  string `json:"run_id"`
	Rows int    `json:"rows"`
}

// TestSealDetectsChangedBytes flips every bit of a sealed object and of a sealed line, and
// truncates them at every byte. Unsealing must fail or return the same value.
func TestSealDetectsChangedBytes(t *testing.T) {
	want := sealedValue{"20261101T020000Z", 1234567}
	for name, form := range map[string]struct {
		seal   func(any) ([]byte, error)
		unseal func([]byte, any) error
	}{"object": {checksum.Seal, checksum.Unseal}, "line": {checksum.SealLine, checksum.UnsealLine}} {
		text, err := form.seal(want)
		var got sealedValue
		if err != nil || form.unseal(text, &got) != nil || got != want {
			t.Fatalf("%s: sealed and unsealed: got %v (%v), want %v", name, got, err, want)
		}
		for bit := range 8 * len(text) {
			text[bit/8] ^= 1 << (bit % 8)
			var got sealedValue
			if form.unseal(text, &got) == nil && !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %+v and no error with bit %d flipped, want an error or the same value: %s", name, got, bit, text)
			}
			text[bit/8] ^= 1 << (bit % 8)
		}
		for n := range len(text) {
			var got sealedValue
			if form.unseal(text[:n], &got) == nil && got != want {
				t.Errorf("%s: got %+v and no error after truncation to %d bytes, want an error or the same value", name, got, n)
			}
		}
	}
}

// TestCacheComparesFiles checks the problems that Compare returns, that a file with two hard
// links is read once, and that SumFile can be cancelled.
func TestCacheComparesFiles(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	harness.Must(t, errors.Join(os.WriteFile(file, []byte("123"), 0o600), os.Link(file, link)))
	want, err := checksum.SumFile(t.Context(), dir, "a")
	if err != nil || want.Bytes != 3 || want.SHA256 != checksum.Hex([]byte("123")) {
		t.Fatalf("SumFile returned %+v (%v), want 3 bytes and their SHA-256", want, err)
	}
	otherSum := want
	otherSum.SHA256 = checksum.Hex([]byte("124"))
	otherSize := want
	otherSize.Bytes = 4
	smallerSize := want
	smallerSize.Bytes = 2
	cache := checksum.NewCache(t.Context())
	for name, c := range map[string]struct {
		path     string
		want     checksum.FileSum
		readData bool
		problem  string
	}{
		"an intact file":     {file, want, true, ""},
		"a second hard link": {link, want, true, ""},
		"a wrong checksum":   {file, otherSum, true, checksum.WrongSum},
		"a wrong checksum, if only the size is compared": {file, otherSum, false, ""},
		"a wrong size":        {file, otherSize, false, "it has 3 bytes, but 4 in its manifest"},
		"a file that grew":    {file, smallerSize, false, "it has 3 bytes, but 2 in its manifest"},
		"a missing file":      {file + "c", want, false, "it is missing"},
		"a folder":            {dir, want, false, "it is not a regular file"},
		"a path below a file": {file + "/c", want, false, "stat " + file + "/c: not a directory"},
	} {
		if got := cache.Compare(c.path, c.want, c.readData); got != c.problem {
			t.Errorf("%s: got %q, want %q", name, got, c.problem)
		}
	}
	if cache.Bytes != 3 {
		t.Errorf("the cache has read %d bytes, want 3: a file with two hard links is read once", cache.Bytes)
	}
	if !cache.IsIntact(file, want) || cache.IsIntact(file, otherSum) {
		t.Error("IsIntact must be true for the recorded checksum, and false for another one")
	}
	// Another file of the same size, and the same file with other content, are read again.
	other := filepath.Join(dir, "other")
	harness.Must(t, os.WriteFile(other, []byte("124"), 0o600))
	if problem := cache.Compare(other, want, true); problem != checksum.WrongSum {
		t.Errorf("another file of the same size: got %q, want %q", problem, checksum.WrongSum)
	}
	info, err := os.Stat(file)
	harness.Must(t, err)
	harness.Must(t, os.Chtimes(other, time.Time{}, info.ModTime()))
	if problem := cache.Compare(other, want, true); problem != checksum.WrongSum {
		t.Errorf("another file of the same size and time: got %q, want %q", problem, checksum.WrongSum)
	}
	harness.Must(t, errors.Join(os.WriteFile(file, []byte("124"), 0o600), os.Chtimes(file, time.Time{}, info.ModTime().Add(time.Second))))
	if problem := cache.Compare(file, want, true); problem != checksum.WrongSum {
		t.Errorf("the file after a change: got %q, want %q", problem, checksum.WrongSum)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	currentSum := otherSum // the file now contains "124"
	if problem := checksum.NewCache(ctx).Compare(file, currentSum, true); problem != context.Canceled.Error() {
		t.Errorf("Compare after cancellation: got %q, want that it was cancelled", problem)
	}
	if _, err := checksum.SumFile(ctx, dir, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("SumFile after cancellation: got the error %v, want context.Canceled", err)
	}
}

// TestSumsOfOneContent checks that all functions give the same checksum of the same bytes.
func TestSumsOfOneContent(t *testing.T) {
	const text = "the content"
	want := checksum.FileSum{File: "a", Bytes: int64(len(text)), SHA256: checksum.Hex([]byte(text))}
	if got := checksum.SumText("a", []byte(text)); got != want {
		t.Errorf("SumText: got %+v, want %+v", got, want)
	}
	if got, err := checksum.Sum(t.Context(), "a", strings.NewReader(text)); got != want || err != nil {
		t.Errorf("Sum: got %+v (%v), want %+v", got, err, want)
	}
	var copied strings.Builder
	if got, err := checksum.Copy(&copied, strings.NewReader(text)); got != want.SHA256 || err != nil || copied.String() != text {
		t.Errorf("Copy copied %q with the checksum %s (%v), want %q and %s", &copied, got, err, text, want.SHA256)
	}
}

// TestOnlyJSONIsSealed seals a value that JSON cannot express, and unseals texts without a seal. Both must fail.
func TestOnlyJSONIsSealed(t *testing.T) {
	for name, seal := range map[string]func(any) ([]byte, error){"object": checksum.Seal, "line": checksum.SealLine} {
		if text, err := seal(make(chan int)); err == nil {
			t.Errorf("%s: got %q and no error", name, text)
		}
	}
	for name, unseal := range map[string]func([]byte, any) error{"object": checksum.Unseal, "line": checksum.UnsealLine} {
		for _, text := range []string{"", "{}", `{"run_id":"a"}`} {
			if err := unseal([]byte(text), &sealedValue{}); !errors.Is(err, checksum.ErrSeal) {
				t.Errorf("%s %q: got %v, want ErrSeal", name, text, err)
			}
		}
	}
}

// TestTextsOfEarlierReleasesAreRead unseals an object and a line that release 1.0.0 sealed.
func TestTextsOfEarlierReleasesAreRead(t *testing.T) {
	const object = "{\n  \"run_id\": \"20261101T020000Z\",\n  \"rows\": 7,\n  \"seal\": \"e9d91969a860973a14fbd25556d363c7cd11914dd22eb26803a0afc504869863\"\n}\n"
	const line = `{"run_id":"20261101T020000Z","rows":7,"sum":"c22a6957"}`
	for _, form := range []struct {
		text   string
		unseal func([]byte, any) error
	}{{object, checksum.Unseal}, {line, checksum.UnsealLine}} {
		var got sealedValue
		if err := form.unseal([]byte(form.text), &got); err != nil || got != (sealedValue{"20261101T020000Z", 7}) {
			t.Errorf("%q is read as %+v (%v), want run 20261101T020000Z with 7 rows: manifests and ledgers of earlier releases would be damaged", form.text, got, err)
		}
	}
}
