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

// Secret is a text that does not show itself: printed, logged or marshalled in
// any way it is <secret>, or empty when there is none. Keep it in exported fields:
// package fmt calls no method of an unexported one.
type Secret string

// Reveal returns the text. It is the only way to it, so that a search for Reveal
// finds every place where a secret leaves.
func (s Secret) Reveal() string { return string(s) }

// String returns <secret>, or nothing when there is none.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// Format covers every verb: String alone would let %d show the text.
func (s Secret) Format(state fmt.State, verb rune) {
	text := s.String()
	if verb == 'q' || state.Flag('#') {
		text = strconv.Quote(text)
	}
	// Formatter cannot report an error; the writer's owner meets it again.
	_, _ = io.WriteString(state, text)
}

// LogValue hides the text from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the text from JSON, YAML and every other text encoding.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
