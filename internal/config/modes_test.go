package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"placementsync/internal/config"
)

func TestModesOfFilesWithSecrets(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing about others there")
	}
	const plain, named = "api: {base_url: https://api.example.com, token: pc_hunter2}\n", "api: {base_url: https://api.example.com, token_file: token}\n"
	const variable = "api:\n  base_url: https://api.example.com\n  token: ${TOKEN}\n"
	const mail = "api: {base_url: https://api.example.com, token: pc_hunter2}\nnotify: {channels: [{name: mail, type: email, to: [a@example.com], from: b@example.com,\n  smtp: {host: smtp.example.com, user: u, password_file: token}}]}\n"
	for name, c := range map[string]struct {
		text             string
		config, token    fs.FileMode
		problem, warning string
	}{
		"closed":                          {plain, 0o600, 0, "", ""},
		"read by the group":               {plain, 0o640, 0, "", ""},
		"read by all, with a secret":      {plain, 0o644, 0, "", "can be read by every user of this machine, and api.token is in it"},
		"read by all, without a secret":   {named, 0o644, 0o600, "", ""},
		"written by the group":            {named, 0o664, 0o600, "", ""},
		"written by all":                  {named, 0o666, 0o600, "config.yaml: can be written by every user", ""},
		"a token that all may read":       {named, 0o600, 0o604, "", "api.token_file"},
		"a token that the group may read": {named, 0o600, 0o640, "", ""},
		"a token that it may write":       {named, 0o600, 0o660, "", "written by its group"},
		"a password of a mail server":     {mail, 0o600, 0o604, "", "notify.channels[0].smtp.password_file"},
		"a password that all may write":   {mail, 0o600, 0o602, "config.yaml:3: notify.channels[0].smtp.password_file: ", ""},
		"a token that all may write":      {named, 0o600, 0o602, "config.yaml:1: api.token_file: ", ""},
		"a token of a variable":           {variable, 0o600, 0o600, "", ""},
		"one that all may read":           {variable, 0o600, 0o604, "", "api.token \""},
		"one that all may write":          {variable, 0o600, 0o602, "config.yaml:3: api.token: ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file, token := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "token")
			if err := errors.Join(os.WriteFile(file, []byte(c.text), 0o600), os.WriteFile(token, []byte("pc_hunter2"), 0o600), os.Chmod(file, c.config), os.Chmod(token, c.token)); err != nil {
				t.Fatal(err)
			}
			got, err := config.Load(file, func(name string) (string, bool) {
				if name == "TOKEN_FILE" {
					return token, true
				}
				return "", false
			})
			switch warnings := strings.Join(got.Warnings, "\n"); {
			case c.problem == "" && err != nil, c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)):
				t.Errorf("got %v, want %q", err, c.problem)
			case c.warning == "" && warnings != "", !strings.Contains(warnings, c.warning):
				t.Errorf("warnings %q, want %q", warnings, c.warning)
			case strings.Contains(warnings, "hunter2"):
				t.Errorf("a secret is shown: %s", warnings)
			}
		})
	}
}
