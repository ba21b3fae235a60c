package config_test

import (
	"testing"

	"placementsync/internal/config"
)

// TestWordsAreFitForAShell: a command with a path in it is copied from the screen.
func TestWordsAreFitForAShell(t *testing.T) {
	for word, want := range map[string]string{"/etc/a-b_c.yaml": "/etc/a-b_c.yaml", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "ä": "ä", "": "''"} {
		if got := config.QuoteWord(word); got != want {
			t.Errorf("%q: got %s, want %s", word, got, want)
		}
	}
}
