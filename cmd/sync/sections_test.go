package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
)

// TestCommandsCheckTheirSections runs commands with a configuration that has a mistake in each section. A command must
// report the mistakes in the sections that it uses, and none in the others, so that an analyst needs no token.
func TestCommandsCheckTheirSections(t *testing.T) {
	t.Parallel()
	const mistakes = `
api: {base_url: "http://127.0.0.1:1", token: pc_demo, burst: -1, price_unit: cents, fields: {orders.nosuch: a}}
streams: {recheck: -1}
warehouse: {dir: nosuch, keep_versions: -1}
run: {patience: -1s}
retention: {raw_days: -2}
history: {ignore: [orders.nosuch]}
checks: {timeout: -1s}
privacy: {drop: [orders.nosuch]}
statuses: {published: [draft, draft]}
schedule: {cron: never}
verify: {cron: never}
serve: {webhook_max_age: -1s}
notify: {failure_url: nosuch}
backup: nosuch
s3: {endpoint: nosuch}
lake: {catalog: nosuch}
`
	const all = "api.burst api.fields api.price_unit backup checks.timeout history.ignore lake.warehouse notify.failure_url privacy.drop " +
		"retention.raw_days run.patience s3.endpoint schedule.cron serve.webhook_max_age statuses.published streams.recheck verify.cron warehouse.keep_versions"
	const stored, withStatuses = "retention.raw_days warehouse.keep_versions", "retention.raw_days statuses.published warehouse.keep_versions"
	file := filepath.Join(t.TempDir(), "config.yaml")
	harness.Must(t, os.WriteFile(file, []byte(mistakes), 0o600))
	setting := regexp.MustCompile(`config\.yaml:\d+: (\w+(?:\.\w+)?)`)
	for args, want := range map[string]string{
		"run": all, "serve": all, "check": all, "publish": all,
		"replay a": "api.fields api.price_unit checks.timeout history.ignore privacy.drop retention.raw_days run.patience " +
			"statuses.published streams.recheck warehouse.keep_versions",
		"audit":   "checks.timeout privacy.drop retention.raw_days statuses.published warehouse.keep_versions",
		"backup":  "backup retention.raw_days s3.endpoint warehouse.keep_versions",
		"watch":   "notify.failure_url retention.raw_days statuses.published warehouse.keep_versions",
		"query x": stored, "report": stored, "export --to x": stored, "rebuild": stored, "verify": stored, "discard": stored, "prune": stored,
		"rollback": stored, "runs": stored, "raw": stored, "mcp": withStatuses, "explore": withStatuses, "diff": withStatuses,
	} {
		var stderr bytes.Buffer
		code := executeArgs(t.Context(), append(strings.Fields(args), "--config", file), processWithoutEnvironment(io.Discard, &stderr))
		var settings []string
		for _, m := range setting.FindAllStringSubmatch(stderr.String(), -1) {
			settings = append(settings, m[1])
		}
		slices.Sort(settings)
		if diff := cmp.Diff(want, strings.Join(settings, " ")); diff != "" || code != ledger.Misused.ExitCode() {
			t.Errorf("%s ended with %d; settings (-want +got):\n%s\n%s", args, code, diff, &stderr)
		}
	}
}
