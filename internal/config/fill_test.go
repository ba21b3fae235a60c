package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/config"
	"placementsync/internal/testing/harness"
)

// TestFillChangesOnlyValues fills in the example and compares the changed lines.
func TestFillChangesOnlyValues(t *testing.T) {
	example, err := os.ReadFile("../../config.example.yaml")
	harness.Must(t, err)
	filled, err := config.Fill(example, map[string]string{
		"api.base_url": "https://a.example.com", "api.allow_insecure": "true", "api.token": "", "api.token_file": "my token # $$1",
		"warehouse.dir": "/var/lib/placementsync/warehouse", "lake.rest.token_file": "${TOKENS}/rest",
	})
	harness.Must(t, err)
	exampleLines, filledLines := strings.Split(string(example), "\n"), strings.Split(string(filled), "\n")
	var changed []string
	for i := range filledLines {
		if exampleLines[i] != filledLines[i] {
			changed = append(changed, filledLines[i])
		}
	}
	want := []string{
		"  base_url: https://a.example.com   # plain http is accepted for loopback addresses only",
		"  allow_insecure: true              # true permits plain http to any host, which exposes the token",
		`  token: ""                         # a read_only token is enough`,
		`  token_file: "my token # $$1"      # file with the token, instead of token; read again after a response 401`,
		`  dir: "/var/lib/placementsync/warehouse"`,
		"    token_file: ${TOKENS}/rest      # file with a bearer token",
	}
	if diff := cmp.Diff(want, changed); diff != "" || len(exampleLines) != len(filledLines) {
		t.Errorf("the filled file has %d lines, want %d; changed lines (-want +got):\n%s", len(filledLines), len(exampleLines), diff)
	}
	cfg, err := config.Parse("config.yaml", filled, func(name string) (string, bool) { return "/etc", name == "TOKENS" })
	if err != nil || cfg.API.TokenFile != "my token # $1" || cfg.Lake.REST.TokenFile != "/etc/rest" || !cfg.API.AllowInsecure {
		t.Errorf("got api %+v and lake.rest.token_file %q (%v), want the filled-in values", cfg.API, cfg.Lake.REST.TokenFile, err)
	}
}

func TestFilledValuesAreParsedUnchanged(t *testing.T) {
	for _, value := range []string{
		"", "x", "a b", "null", "~", "12", "0x1F", "1e5", "no", "- a", "a: b", "a #b", "#", "'", `"`, `\`, `C:\new`, "${A}", "${A} b", "$$", "https://a.example.com:",
		"https://a.example.com/x#y", "https://[::1]:8080/v1", "{a}", "[a]", "&a", "*a", "!a", "%a", "@a", "|", ">", "é", "a\tb",
	} {
		filled, err := config.Fill(minimalFile(""), map[string]string{"api.base_url": value})
		if err != nil {
			t.Errorf("%q: %v", value, err)
			continue
		}
		cfg, err := config.Parse("f", filled, func(name string) (string, bool) { return "${" + name + "}", !strings.HasSuffix(name, "_FILE") })
		if want := strings.ReplaceAll(value, "$$", "$"); cfg.API.BaseURL != want {
			t.Errorf("filled in %q: got %q (%v), want %q:\n%s", value, cfg.API.BaseURL, err, want, filled)
		}
	}
}

// TestFillHandlesOtherLineForms covers forms of lines that config.example.yaml does not have. Fill
// replaces the value and keeps the form of the line, or returns an error (want "").
func TestFillHandlesOtherLineForms(t *testing.T) {
	for text, want := range map[string]string{
		"api:\n    base_url: 'x'":                         "api:\n    base_url: https://b.example.com",
		"api:\r\n  base_url: x\t# c\r\n  timeout: 1s\r\n": "api:\r\n  base_url: https://b.example.com # c\r\n  timeout: 1s\r\n",
		"# c\r\n\r\n# d\r\napi:\r\n  base_url: x\r\n":     "# c\r\n\r\n# d\r\napi:\r\n  base_url: https://b.example.com\r\n",
		"lake:\n  base_url: y\napi:\n  base_url: x # é\n": "lake:\n  base_url: y\napi:\n  base_url: https://b.example.com # é\n",
		"api: {base_url: x}\n":                            "",
		"# c\rapi:\r  base_url: x\r":                      "",
		"api:\n  base_url: two words\n":                   "",
		"api:\n  base_url:\n":                             "",
		"api:\n  base_url: |\n    x\n":                    "",
		"api:\n  timeout: 1s\n":                           "",
		"api: [\n":                                        "",
		"":                                                "",
	} {
		got, err := config.Fill([]byte(text), map[string]string{"api.base_url": "https://b.example.com"})
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("Fill(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
}

// TestQuoteWord checks the quoting of paths in suggested commands, which users copy into a shell.
func TestQuoteWord(t *testing.T) {
	for word, want := range map[string]string{
		"/etc/a-b_c.yaml": "/etc/a-b_c.yaml", "v2": "v2", "ä": "ä", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "": "''",
	} {
		if got := config.QuoteWord(word); got != want {
			t.Errorf("QuoteWord(%q) = %s, want %s", word, got, want)
		}
	}
}
