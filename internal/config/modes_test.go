package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"placementsync/internal/config"
	"placementsync/internal/testing/harness"
)

func TestModesOfFilesWithSecrets(t *testing.T) {
	const withToken, withTokenFile = "api: {base_url: https://api.example.com, token: pc_hunter2}\n", "api: {base_url: https://api.example.com, token_file: token}\n"
	const withVariable = "api:\n  base_url: https://api.example.com\n  token: ${TOKEN}\n"
	const withMail = "api: {base_url: https://api.example.com, token: pc_hunter2}\nnotify: {channels: [{name: mail, type: email, to: [a@example.com], from: b@example.com,\n  smtp: {host: smtp.example.com, user: u, password_file: token}}]}\n"
	const withAddress = "api: {base_url: \"${TOKEN}\", token: pc_hunter2}\n"
	const withHashKey = "api: {base_url: https://api.example.com, token: pc_hunter2}\nprivacy: {hash: [orders.guest_email]}\n"
	for name, c := range map[string]struct {
		configText             string
		configMode, secretMode fs.FileMode
		problem, warning       string
	}{
		"config.yaml private":                           {withToken, 0o600, 0, "", ""},
		"config.yaml readable by the group":             {withToken, 0o640, 0, "", ""},
		"config.yaml readable by all, with a secret":    {withToken, 0o644, 0, "", "can be read by every user of this machine, and contains api.token"},
		"config.yaml readable by all, without a secret": {withTokenFile, 0o644, 0o600, "", ""},
		"config.yaml writable by the group":             {withTokenFile, 0o664, 0o600, "", ""},
		"config.yaml writable by all":                   {withTokenFile, 0o666, 0o600, "config.yaml: can be written by every user", ""},
		"token file readable by all":                    {withTokenFile, 0o600, 0o604, "", "api.token_file"},
		"token file readable by the group":              {withTokenFile, 0o600, 0o640, "", ""},
		"token file writable by the group":              {withTokenFile, 0o600, 0o660, "", "written by the group of the file"},
		"mail password file readable by all":            {withMail, 0o600, 0o604, "", "notify.channels[0].smtp.password_file"},
		"mail password file writable by all":            {withMail, 0o600, 0o602, "config.yaml:3: notify.channels[0].smtp.password_file: ", ""},
		"token file writable by all":                    {withTokenFile, 0o600, 0o602, "config.yaml:1: api.token_file: ", ""},
		"file of an address, readable by all":           {withAddress, 0o600, 0o604, "", ""},
		"file of an address, writable by all":           {withAddress, 0o600, 0o602, "config.yaml:1: api.base_url: ", ""},
		"a device, writable by all":                     {"api: {base_url: https://api.example.com, token_file: /dev/null}\n", 0o600, 0o600, "", ""},
		"file of the hash key, readable by all":         {withHashKey, 0o600, 0o604, "", "privacy.hash \""},
		"file named by TOKEN_FILE, private":             {withVariable, 0o600, 0o600, "", ""},
		"file named by TOKEN_FILE, readable by all":     {withVariable, 0o600, 0o604, "", "api.token \""},
		"file named by TOKEN_FILE, writable by all":     {withVariable, 0o600, 0o602, "config.yaml:3: api.token: ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file, secretPath := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "token")
			secretText := "pc_hunter2"
			if c.configText == withAddress {
				secretText = "https://api.example.com"
			}
			harness.Must(t, errors.Join(os.WriteFile(file, []byte(c.configText), 0o600), os.Chmod(file, c.configMode)))
			harness.Must(t, errors.Join(os.WriteFile(secretPath, []byte(secretText), 0o600), os.Chmod(secretPath, c.secretMode)))
			got, err := config.Load(file, func(name string) (string, bool) {
				if name == "TOKEN_FILE" || name == config.HashKeyVar+"_FILE" && c.configText == withHashKey {
					return secretPath, true
				}
				return "", false
			})
			switch warnings := strings.Join(got.Warnings, "\n"); {
			case c.problem == "" && err != nil, c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)):
				t.Errorf("got error %v, want %q", err, c.problem)
			case c.warning == "" && warnings != "", !strings.Contains(warnings, c.warning):
				t.Errorf("warnings %q, want %q", warnings, c.warning)
			case strings.Contains(warnings, "hunter2"):
				t.Errorf("the warnings contain a secret: %s", warnings)
			}
		})
	}
}

// TestAllSecretFilesAreChecked links the file of each key to a file that everybody can read, as Kubernetes mounts
// secrets.
func TestAllSecretFilesAreChecked(t *testing.T) {
	dir := t.TempDir()
	file, secret := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "..data")
	const text = "api: {base_url: https://api.example.com, token_file: link}\n" +
		"s3: {access_key_file: link, secret_key_file: link}\n" +
		"lake: {postgres_password_file: link, rest: {token_file: link, credential_file: link}}\n"
	harness.Must(t, errors.Join(os.WriteFile(file, []byte(text), 0o600), os.WriteFile(secret, []byte("pc_hunter2"), 0o600),
		os.Chmod(secret, 0o604), os.Symlink("..data", filepath.Join(dir, "link"))))
	c, err := config.Load(file, nil)
	harness.Must(t, err)
	var keys []string
	for _, warning := range c.Warnings {
		key, _, _ := strings.Cut(warning, " ")
		keys = append(keys, key)
	}
	const want = "api.token_file s3.access_key_file s3.secret_key_file lake.postgres_password_file " +
		"lake.rest.token_file lake.rest.credential_file"
	if got := strings.Join(keys, " "); got != want {
		t.Errorf("got warnings about %s, want %s", got, want)
	}
}
