package main

import (
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"placementsync/internal/cli"
	"placementsync/internal/testing/harness"
)

// TestDiffOfADemo compares snapshots of a demo with several flags.
func TestDiffOfADemo(t *testing.T) {
	t.Parallel()
	g := &globals{process: hostProcess(), Flags: cli.Flags{Config: threeNights(t)}}
	g.stderr = io.Discard
	run := func(o diffOptions, names ...string) (stdout, stderr string) {
		t.Helper()
		var out, errOut strings.Builder
		g.stdout, g.stderr = &out, &errOut
		harness.Must(t, runDiff(t.Context(), g, o, names))
		return out.String(), errOut.String()
	}
	csv := outputOptions{format: "csv"}
	tables := []string{"product_listing*", "orders"}
	changes, _ := run(diffOptions{tables: tables, output: outputOptions{format: "jsonl"}})
	outlet := queryValue(t, g, `SELECT o.name
FROM changes(timestamp '2026-11-03 02:00:00', timestamp '2026-11-04 02:00:00') c
JOIN product_listings l ON l.id = split_part(c.key, '/', 1) JOIN outlets o ON o.id = l.outlet_id
WHERE c.table_name = 'product_listing_prices' GROUP BY 1 ORDER BY count(*), 1 LIMIT 1`)
	for name, c := range map[string]struct {
		flags  diffOptions
		names  []string
		stdout string
		stderr string
	}{
		"the last two snapshots": {flags: diffOptions{tables: tables, summary: true, output: csv},
			stdout: "^table,new,changed,gone,fields\r\n((orders|product_listing[a-z_]*),[\\d,]+\r\n)+$",
			stderr: `^from snapshot 20261103T020000Z.*\nto snapshot 20261104T020000Z.*\n$`},
		"since a run": {names: []string{"20261102T020000Z"}, flags: diffOptions{tables: []string{"orders"}, output: csv},
			stdout: `^changed_at,`, stderr: `^from snapshot 20261102T020000Z.*\nto snapshot 20261104T020000Z`},
		"two days": {names: []string{"2026-11-02", "2026-11-03"}, flags: diffOptions{tables: []string{"orders"}},
			stdout: `^table +new +changed +gone +fields\n(orders .*\n)?\n+(changed_at|.*rows)`,
			stderr: `^from snapshot 20261102T020000Z.*\nto snapshot 20261103T020000Z`},
		"one outlet": {flags: diffOptions{tables: tables, outlet: outlet, output: csv},
			stdout: "^[^\n]+\r\n([^\n]*" + regexp.QuoteMeta(outlet) + "[^\n]*\r\n)+$", stderr: `^from `},
	} {
		stdout, stderr := run(c.flags, c.names...)
		if !regexp.MustCompile(c.stdout).MatchString(stdout) || !regexp.MustCompile(c.stderr).MatchString(stderr) {
			t.Errorf("%s: got\n%s\n%s\nwant %s\n%s", name, stdout, stderr, c.stdout, c.stderr)
		}
	}
	lines := regexp.MustCompile(`(?m)^\{"table":"(orders|product_listing[a-z_]*)",.*\}\n`).FindAllString(changes, -1)
	if len(lines) == 0 || strings.Join(lines, "") != changes {
		t.Errorf("the changes of %q are\n%s\nwant one JSON object for each, of these tables", tables, changes)
	}
	file := filepath.Join(t.TempDir(), "changes.txt")
	stdout, _ := run(diffOptions{tables: tables, output: outputOptions{file: file}})
	if stdout != "" || strings.Contains(read(t, file), "fields") {
		t.Errorf("with a file, the command printed %q and wrote\n%s\nwant only changes, in the file", stdout, read(t, file))
	}
	g.Quiet = true
	if _, stderr := run(diffOptions{summary: true}); stderr != "" {
		t.Errorf("with --quiet, the command printed %q to stderr", stderr)
	}
}
