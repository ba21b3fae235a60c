package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"placementsync/internal/config"
	"placementsync/internal/testing/harness"
)

// writeCredentials writes files into a $CREDENTIALS_DIRECTORY as systemd does. The returned function
// looks up $CREDENTIALS_DIRECTORY, a variable NAME_FILE for each file, and otherVariables.
func writeCredentials(t *testing.T, files, otherVariables map[string]string) func(string) (string, bool) {
	t.Helper()
	variables := map[string]string{"CREDENTIALS_DIRECTORY": t.TempDir()}
	for name, text := range files {
		path := filepath.Join(variables["CREDENTIALS_DIRECTORY"], name)
		harness.Must(t, os.WriteFile(path, []byte(text), 0o400))
		variables[name+"_FILE"] = path
	}
	for name, value := range otherVariables {
		variables[name] = value
	}
	return func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}
}

const secretsByVariable = `
api:
  base_url: https://api.example.com
  token_file: ${CREDENTIALS_DIRECTORY}/PLACEMENTSYNC_TOKEN
serve:
  auth_token: ${STATUS_TOKEN}
  webhook_secrets: ["${OLD_SECRET}", "${NEW_SECRET}"]
notify: {failure_url: "https://hooks.example.com/${CHAT_KEY}"}
privacy: {hash: [orders.guest_email]}
`

func TestEverySecretCanComeFromAFile(t *testing.T) {
	env := writeCredentials(t, map[string]string{
		"PLACEMENTSYNC_TOKEN": "pc_hunter2\n", "OLD_SECRET": " whsec-hunter2\n", "NEW_SECRET": "whsec-hunter3",
		"STATUS_TOKEN": "hunter4-and-16-characters\r\n", "CHAT_KEY": "hunter5", config.HashKeyVar: "hunter6 with spaces\n",
	}, nil)
	c, err := config.Parse("config.yaml", []byte(secretsByVariable), env)
	harness.Must(t, err)
	token, err := c.API.ReadToken()
	harness.Must(t, err)
	for got, want := range map[config.Secret]string{
		token: "pc_hunter2", c.Serve.WebhookSecrets[0]: "whsec-hunter2", c.Serve.WebhookSecrets[1]: "whsec-hunter3",
		c.Serve.AuthToken: "hunter4-and-16-characters", c.Notify.FailureURL: "https://hooks.example.com/hunter5", c.Privacy.HashKey: "hunter6 with spaces",
	} {
		if got.Reveal() != want {
			t.Errorf("got %q, want %q", got.Reveal(), want)
		}
	}
}

func TestUnusableSecretFiles(t *testing.T) {
	const text = "api: {base_url: https://api.example.com, token: \"${TOKEN}\"}\n"
	for name, test := range map[string]struct {
		files, otherVariables map[string]string
		want                  string
	}{
		"missing":        {nil, map[string]string{"TOKEN_FILE": "/none/token"}, "TOKEN_FILE names cannot be read: open /none/token: no such file"},
		"empty":          {map[string]string{"TOKEN": "\n"}, nil, "TOKEN_FILE names is empty"},
		"too large":      {map[string]string{"TOKEN": strings.Repeat("hunter2", 2000)}, nil, "TOKEN_FILE names has 14000 bytes"},
		"TOKEN also set": {map[string]string{"TOKEN": "hunter2"}, map[string]string{"TOKEN": "hunter2"}, "both TOKEN and TOKEN_FILE"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse("config.yaml", []byte(text), writeCredentials(t, test.files, test.otherVariables))
			if err == nil || !strings.Contains(err.Error(), "config.yaml:1: api.token: ") || !strings.Contains(err.Error(), test.want) ||
				strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v, want an error at api.token with %q and without the secret", err, test.want)
			}
		})
	}
}

func TestUnreadableHashKeyFileIsReportedAtPrivacyHash(t *testing.T) {
	env := writeCredentials(t, nil, map[string]string{"TOKEN": "pc_hunter2", config.HashKeyVar + "_FILE": "/none/key"})
	_, err := config.Parse("f", []byte("api: {base_url: https://api.example.com, token: \"${TOKEN}\"}\nprivacy: {hash: [orders.guest_email]}\n"), env)
	if err == nil || !strings.Contains(err.Error(), "privacy.hash: the file that "+config.HashKeyVar+"_FILE names cannot be read") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one error at privacy.hash about the file", err)
	}
}

// TestTheVariableOfAFileIsNoFile names a file with a variable of its own.
func TestTheVariableOfAFileIsNoFile(t *testing.T) {
	env := writeCredentials(t, nil, map[string]string{"TOKEN_FILE": "/run/token", "TOKEN_FILE_FILE": "/none/path"})
	cfg, err := config.Parse("/etc/f.yaml", []byte("api: {base_url: https://api.example.com, token_file: \"${TOKEN_FILE}\"}\n"), env)
	if err != nil || cfg.API.TokenFile != "/run/token" {
		t.Errorf("got the token file %q (%v), want /run/token", cfg.API.TokenFile, err)
	}
	env = writeCredentials(t, nil, map[string]string{"TOKEN": "pc_a", "TOKEN_FILE": ""})
	cfg, err = config.Parse("f", []byte("api: {base_url: https://api.example.com, token: \"${TOKEN}\"}\n"), env)
	if err != nil || cfg.API.Token.Reveal() != "pc_a" {
		t.Errorf("an empty TOKEN_FILE: got %v, want the value of TOKEN", err)
	}
}
