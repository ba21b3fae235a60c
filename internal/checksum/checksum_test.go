package checksum_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"placementsync/internal/checksum"
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
	if err := errors.Join(os.WriteFile(file, []byte("123"), 0o600), os.Link(file, link)); err != nil {
		t.Fatal(err)
	}
	want, err := checksum.SumFile(t.Context(), dir, "a")
	if err != nil || want.Bytes != 3 || want.SHA256 != checksum.Hex([]byte("123")) {
		t.Fatalf("SumFile returned %+v (%v), want 3 bytes and their SHA-256", want, err)
	}
	otherSum := want
	otherSum.SHA256 = checksum.Hex([]byte("124"))
	otherSize := want
	otherSize.Bytes = 4
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
		"a wrong size":   {file, otherSize, false, "it has 3 bytes, but 4 in its manifest"},
		"a missing file": {file + "c", want, false, "it is missing"},
		"a folder":       {dir, want, false, "it is not a regular file"},
	} {
		if got := cache.Compare(c.path, c.want, c.readData); got != c.problem {
			t.Errorf("%s: got %q, want %q", name, got, c.problem)
		}
	}
	if cache.Bytes != 3 {
		t.Errorf("the cache has read %d bytes, want 3: a file with two hard links is read once", cache.Bytes)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := checksum.SumFile(ctx, dir, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("SumFile after cancellation: got the error %v, want context.Canceled", err)
	}
}
