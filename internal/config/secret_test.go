package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"placementsync/internal/config"
	"placementsync/internal/testing/harness"
)

const secret config.Secret = "pc_hunter2"

func TestSecretDoesNotPrint(t *testing.T) {
	holder := struct {
		One  config.Secret
		Many []config.Secret
	}{secret, []config.Secret{secret}}
	for _, verb := range []string{"%s", "%v", "%+v", "%#v", "%q", "%x", "%X", "%d", "%t", "%U", "%c", "%20s", "%-5v"} {
		for _, value := range []any{secret, holder, &holder, []any{secret}, map[config.Secret]int{secret: 1}} {
			requireHidden(t, verb, fmt.Sprintf(verb, value))
		}
	}
	requireHidden(t, "error", fmt.Errorf("token %v", secret).Error())
	for _, verb := range []string{"%q", "%#v"} {
		if got := fmt.Sprintf(verb, secret); got != `"<secret>"` {
			t.Errorf("%s of a secret prints %s, want quotes", verb, got)
		}
	}
	if got := fmt.Sprint(config.Secret("")); got != "" {
		t.Errorf("an empty secret prints %q, want \"\"", got)
	}
}

func requireHidden(t *testing.T, how, got string) {
	t.Helper()
	hex := fmt.Sprintf("%x", "hunter2")
	if strings.Contains(got, "hunter2") || strings.Contains(strings.ToLower(got), hex) {
		t.Errorf("%s shows the secret: %s", how, got)
	}
	if got = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(got); !strings.Contains(got, "<secret>") {
		t.Errorf("%s does not show <secret>: %s", how, got)
	}
}

func TestSecretDoesNotMarshal(t *testing.T) {
	holder := map[string]any{"token": secret, "list": []config.Secret{secret}}
	requireHidden(t, "json", string(harness.MustValue(json.Marshal(holder))))
	requireHidden(t, "yaml", string(harness.MustValue(yaml.Marshal(holder))))
}

func TestSecretDoesNotLog(t *testing.T) {
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		"json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var log bytes.Buffer
		slog.New(handler(&log)).Info("login", "token", secret, "api", config.API{Token: secret})
		requireHidden(t, name, log.String())
	}
}

func TestYAMLShowsEverythingButSecrets(t *testing.T) {
	cfg, err := config.Load("testdata/good/full.yaml", envWithHashKey)
	harness.Must(t, err)
	cfg.API.Token, cfg.API.TokenFile = secret, ""
	text, err := yaml.Marshal(cfg)
	harness.Must(t, err)
	// token, auth_token, two webhook_secrets, three notify addresses, the user of a mail server
	if got := bytes.Count(text, []byte("<secret>")); got != 8 {
		t.Errorf("got %d times <secret>, want 8:\n%s", got, text)
	}
	for _, part := range []string{"hunter2", "5$", "plain$text", "/beat", "hash_key"} {
		if bytes.Contains(text, []byte(part)) {
			t.Errorf("%q is shown:\n%s", part, text)
		}
	}
	for _, part := range []string{"timeout: 1m30s", "keep_versions: 1", `team_id: "0123"`, "raw: discard"} {
		if !bytes.Contains(text, []byte(part)) {
			t.Errorf("%q is not shown:\n%s", part, text)
		}
	}
}

func TestMarshaledDefaultsAreReadBack(t *testing.T) {
	want := config.Default()
	want.API.BaseURL = "https://api.example.com"
	text, err := yaml.Marshal(want)
	harness.Must(t, err)
	_, err = config.Parse("f", text, env)
	const missingToken = `f:4: api.token: is empty: give the token as ${PLACEMENTSYNC_TOKEN}, or its file as api.token_file`
	if err == nil || err.Error() != missingToken {
		t.Errorf("got %v, want only the problem of the missing token, from:\n%s", err, text)
	}
}

func TestReadToken(t *testing.T) {
	for name, test := range map[string]struct{ text, want, fault string }{
		"surrounding space": {"  pc_hunter2\r\n", "pc_hunter2", ""},
		"another prefix":    {"hunter2", "hunter2", ""},
		"empty":             {" \n", "", `api.token_file "token" is empty`},
		"two lines":         {"pc_a\nhunter2", "", "contains white space"},
		"control character": {"pc_\x00hunter2", "", "contains white space or characters"},
		"too long":          {strings.Repeat("hunter2", 2000), "", "is too long for a token"},
		"value of a header": {"Bearer hunter2", "", "contains white space"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			harness.Must(t, os.WriteFile("token", []byte(test.text), 0o600))
			got, err := config.API{TokenFile: "token"}.ReadToken()
			if got.Reveal() != test.want {
				t.Errorf("got %q, want %q", got.Reveal(), test.want)
			}
			if message := fmt.Sprint(err); (err != nil) != (test.fault != "") || !strings.Contains(message, test.fault) && err != nil || strings.Contains(message, "hunter2") {
				t.Errorf("got %v, want %q", err, test.fault)
			}
		})
	}
}

// TestReadTokenWithoutAFile reads the token from a missing file, and from the configuration.
func TestReadTokenWithoutAFile(t *testing.T) {
	_, err := config.API{TokenFile: "gone"}.ReadToken()
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "api.token_file: open gone") {
		t.Errorf("got %v, want fs.ErrNotExist with key and path", err)
	}
	if got, err := (config.API{Token: secret}).ReadToken(); got != secret || err != nil {
		t.Errorf("got %v, %v, want the token", got.Reveal(), err)
	}
}

func TestTokenWarning(t *testing.T) {
	if got := config.TokenWarning(secret); got != "" {
		t.Errorf("got %q, want no warning", got)
	}
	if got := config.TokenWarning("ghp_hunter2"); !strings.Contains(got, "pc_") || strings.Contains(got, "hunter2") {
		t.Errorf("got %q, want a warning with the prefix and without the token", got)
	}
}
