package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"placementsync/internal/daemon"
	"placementsync/internal/testing/harness"
)

// TestHealthProbeNeedsOnlyAddress checks a health probe with errors in other keys of the
// configuration. The daemon may still run with an earlier, valid configuration.
func TestHealthProbeNeedsOnlyAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, kind, listen, problem string }{
		"error in another key":     {"serve: {listen: '127.0.0.1:99', auth_token: '${NOTSET}'}\nfoo: 1\n", daemon.ProbeHealth, "127.0.0.1:99", ""},
		"no address":               {"serve: {listen: '${NOTSET}'}\n", daemon.ProbeHealth, "", "NOTSET"},
		"invalid YAML":             {"serve: [\n", daemon.ProbeHealth, "", "find the address of the daemon"},
		"readiness needs all keys": {"serve: {listen: '127.0.0.1:99', auth_token: '${NOTSET}'}\n", daemon.ProbeReady, "127.0.0.1:99", "NOTSET"},
	} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		harness.Must(t, os.WriteFile(file, []byte(c.text), 0o600))
		g := newQuietGlobals()
		g.Config = file
		listen, _, err := findDaemon(g, c.kind)
		if listen != c.listen || (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: got the address %q and the error %v, want %q and %q", name, listen, err, c.listen, c.problem)
		}
	}
}
