package config

import (
	"encoding"
	"fmt"
	"io"
	"log/slog"
	"strconv"
)

const redacted = "<secret>"

var (
	_ fmt.Formatter          = Secret("")
	_ slog.LogValuer         = Secret("")
	_ encoding.TextMarshaler = Secret("")
)

// Secret is a string that prints, logs and marshals as <secret>, or as "" when it is
// empty. Store it in exported fields only: package fmt does not call methods of
// unexported fields.
type Secret string

// Reveal returns the text. Every use of a secret calls Reveal, so that a search finds all uses.
func (s Secret) Reveal() string { return string(s) }

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// Format covers every verb: with String alone, %d would print the text.
func (s Secret) Format(state fmt.State, verb rune) {
	text := s.String()
	if verb == 'q' || state.Flag('#') {
		text = strconv.Quote(text)
	}
	// Format cannot return an error.
	_, _ = io.WriteString(state, text)
}

// LogValue hides the text from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the text from JSON, YAML and every other text encoding.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
