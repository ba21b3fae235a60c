package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"placementsync/internal/config"
	"placementsync/internal/testing/harness"
)

// TestProblemsOfValidations checks that the problems of a [config.Validation] have a line and, if
// given, a value, and are sorted together with all other problems. A value with a variable is shown
// as it is written in the file. Only the first problem of a value is reported.
func TestProblemsOfValidations(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	const text = `api:
  base_url: https://api.example.com
  token: ${PLACEMENTSYNC_TOKEN}
  page_size: 0
streams:
  include: [orders, odrers, "${CONCURRENCY}"]
  exclude: ["${UNSET}"]
`
	harness.Must(t, os.WriteFile(file, []byte(text), 0o600))
	_, err := config.Load(file, env, func(c config.Config, refuse func(path string, value any, message string)) {
		for i, name := range c.Streams.Include {
			if name != "orders" {
				refuse(fmt.Sprintf("streams.include[%d]", i), name, "is no stream: use orders")
			}
		}
		refuse("streams.exclude[0]", c.Streams.Exclude[0], "is no stream")
		refuse("streams.recheck", nil, "does not fit: change it")
	})
	want := strings.ReplaceAll(`F:4: api.page_size: 0 is below 1: use 1 to 1000
F:5: streams.recheck: does not fit: change it
F:6: streams.include[1]: "odrers" is no stream: use orders
F:6: streams.include[2]: ${CONCURRENCY} is no stream: use orders
F:7: streams.exclude[0]: the environment variable UNSET is not set: set it, or write the value here`, "F", file)
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}
