package config_test

import (
	"testing"

	"placementsync/internal/config"
	"placementsync/internal/testing/harness"
)

// TestByteOrderMarksAreSkipped begins the configuration, the token file and a file of a variable with a mark.
func TestByteOrderMarksAreSkipped(t *testing.T) {
	env := writeCredentials(t, map[string]string{
		"PLACEMENTSYNC_TOKEN": "\ufeffpc_hunter2\r\n", "OLD_SECRET": "\ufeff whsec-hunter2\n", "NEW_SECRET": "whsec-hunter3",
		"STATUS_TOKEN": "hunter4-and-16-characters", "CHAT_KEY": "hunter5", config.HashKeyVar: "hunter6 with spaces",
	}, nil)
	c, err := config.Parse("config.yaml", []byte("\ufeff"+secretsByVariable), env)
	harness.Must(t, err)
	token, err := c.API.ReadToken()
	if err != nil || token != "pc_hunter2" || c.Serve.WebhookSecrets[0] != "whsec-hunter2" {
		t.Errorf("the token is %q (%v) and the first secret %q, want pc_hunter2 and whsec-hunter2",
			token.Reveal(), err, c.Serve.WebhookSecrets[0].Reveal())
	}
}
