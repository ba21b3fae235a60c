package main

import (
	"slices"
	"testing"

	"placementsync/internal/config"
)

// TestFetchConfig checks the settings that follow from several keys. A wrong one would show private values in errors, or
// end a night whose token was rotated.
func TestFetchConfig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tokenFile                   string
		privacy                     config.Privacy
		canChange, hasPrivateValues bool
	}{
		"neither":         {},
		"a token file":    {tokenFile: "token", canChange: true},
		"dropped columns": {privacy: config.Privacy{Drop: []string{"orders.guest_email"}}, hasPrivateValues: true},
		"hashed columns":  {privacy: config.Privacy{Hash: []string{"orders.guest_email"}}, hasPrivateValues: true},
	} {
		got := fetchConfig(config.Config{API: config.API{TokenFile: c.tokenFile}, Privacy: c.privacy})
		private, err := privateColumns(config.Config{Privacy: c.privacy})
		if err != nil || slices.Contains(private, "orders.guest_email") != c.hasPrivateValues {
			t.Errorf("%s: an audit treats the columns %q as private (%v); want orders.guest_email: %t", name, private, err, c.hasPrivateValues)
		}
		if got.TokenCanChange != c.canChange || got.HasPrivateValues != c.hasPrivateValues {
			t.Errorf("%s: the token can change: %t, and there are private values: %t; want %t and %t", name, got.TokenCanChange, got.HasPrivateValues, c.canChange, c.hasPrivateValues)
		}
	}
}
