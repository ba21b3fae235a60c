package charset_test

import (
	"testing"

	"placementsync/internal/charset"
)

// TestDeclaredCharset decodes the bytes E9 80. An empty text means that Declared returns nil: the bytes are kept.
func TestDeclaredCharset(t *testing.T) {
	for contentType, want := range map[string]string{
		"application/json; charset=ISO-8859-1":     "é\u0080",
		`application/json; charset="windows-1252"`: "é€",
		"application/json; Charset=koi8-r":         "И─",
		"application/json":                         "",
		"application/json; charset=utf-8":          "",
		"application/json; charset=UTF-8":          "",
		"application/json; charset=US-ASCII":       "",
		"application/json; charset=klingon":        "",
		"application/json; charset":                "",
		"":                                         "",
	} {
		got := ""
		if declared := charset.Declared(contentType); declared != nil {
			text, err := declared.NewDecoder().String("\xe9\x80")
			if err != nil {
				t.Errorf("%q: %v", contentType, err)
			}
			got = text
		}
		if got != want {
			t.Errorf("%q decodes the bytes E9 80 to %q, want %q", contentType, got, want)
		}
	}
}
