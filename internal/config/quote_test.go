package config_test

import (
	"testing"

	"placementsync/internal/config"
)

// TestQuoteWord checks the quoting of paths in suggested commands, which users copy into a shell.
func TestQuoteWord(t *testing.T) {
	for word, want := range map[string]string{"/etc/a-b_c.yaml": "/etc/a-b_c.yaml", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "ä": "ä", "v2": "v2", "": "''"} {
		if got := config.QuoteWord(word); got != want {
			t.Errorf("QuoteWord(%q) = %s, want %s", word, got, want)
		}
	}
}
