package warehouse

import (
	"reflect"
	"testing"
)

type sealedValue struct {
	Run  string `json:"run_id"`
	Rows int    `json:"rows"`
}

// TestNoFlippedBitPassesForWhatWasSealed flips every bit of a manifest and of a line
// of the ledger: each is refused, or says the same.
func TestNoFlippedBitPassesForWhatWasSealed(t *testing.T) {
	want := sealedValue{"20261101T020000Z", 1234567}
	for name, form := range map[string]struct {
		seal   func(any) ([]byte, error)
		unseal func([]byte, any) error
	}{"file": {sealObject, unsealObject}, "line": {sealLine, unsealLine}} {
		text, err := form.seal(want)
		var got sealedValue
		if err != nil || form.unseal(text, &got) != nil || got != want {
			t.Fatalf("%s: sealed and unsealed: %v (%v)", name, got, err)
		}
		for bit := range 8 * len(text) {
			text[bit/8] ^= 1 << (bit % 8)
			var got sealedValue
			if form.unseal(text, &got) == nil && !reflect.DeepEqual(got, want) {
				t.Errorf("%s: bit %d makes %+v of it: %s", name, bit, got, text)
			}
			text[bit/8] ^= 1 << (bit % 8)
		}
		for n := range len(text) - 1 {
			if form.unseal(text[:n], &got) == nil && got != want {
				t.Errorf("%s: cut after %d bytes it is %+v", name, n, got)
			}
		}
	}
}
