package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
)

// TestLedgerFitsTerminal checks that no line is wider than the terminal, that the most
// important columns are kept, and that output to a pipe has all columns.
func TestLedgerFitsTerminal(t *testing.T) {
	const why = "orders is carried since 2026-11-17 02:00 UTC: GET /orders answered 503 Service Unavailable after 6 attempts, and a \u6f22\u5b57 text"
	at := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	goodRun := ledger.Run{ID: "20261120T020000Z", StartedAt: at, EndedAt: at.Add(155 * time.Second), Outcome: ledger.Complete, Attempts: 1,
		Requests: 15_180, Bytes: 17_000_000, Retries: 12, Rows: 136_180, New: 1_361, Changed: 2_552, Gone: 54, Streams: []ledger.Stream{{Grade: "exact"}, {Grade: "skipped"}, {Grade: "bounded"}}}
	badRun := goodRun
	badRun.ID, badRun.Outcome, badRun.ExitCode, badRun.Error = "20261121T020000Z", ledger.Failed, 1, why
	backup := ledger.Run{ID: "20261120T020312Z-backup", Kind: ledger.Backup, Version: goodRun.ID, StartedAt: at, EndedAt: at, Outcome: ledger.Complete}
	const pipe = 0
	for width, want := range map[int][]string{
		pipe: {"attempts", "1 not read, 2 proven", why, "of 20261120T020000Z", "16.2 MiB"},
		60:   {"outcome", "20261121T020000Z", "failed", "orders is carried "},
		80:   {"outcome", "readers", "see this", "orders is carried "},
		120:  {"outcome", "readers", "took", "1361", "2552", "orders is carried "},
		200:  {"requests", "1 not read, 2 proven", "orders is carried since 2026"},
	} {
		runs := []ledger.Run{goodRun, badRun}
		if width == pipe {
			runs = append(runs, backup)
		}
		text := ledgerTable(runs, goodRun.ID).render(width)
		if width != pipe {
			checkWidths(t, fmt.Sprintf("runs at %d", width), text, width)
		}
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("with width %d the ledger does not contain %q:\n%s", width, part, text)
			}
		}
	}
	// Empty columns are omitted first, which leaves room for the column "changed".
	if text := ledgerTable([]ledger.Run{goodRun, goodRun}, goodRun.ID).render(80); !strings.Contains(text, "changed") || strings.Contains(text, "why") {
		t.Errorf("the ledger of complete nights is\n%s\nwant the column \"changed\" and no column \"why\", which is empty", text)
	}
}

// TestTableIsFitted renders a table at several widths. Columns of a rank are shown together or not at all, long texts
// are cut, numbers are aligned to the right, wide characters count as two, and a column without values is shown only if
// no text is cut.
func TestTableIsFitted(t *testing.T) {
	t.Parallel()
	table := textTable{columns: []column{{name: "id"}, {name: "n", isNumber: true, drop: 2},
		{name: "of", isNumber: true, drop: 2}, {name: "why", drop: 1, minWidth: 5}, {name: "without values", drop: 1}}}
	table.addRow("a", 1, 200, "a long\treason", "")
	table.addRow("\u6f22\u5b57x", 30, 4, "", "")
	for width, want := range map[int]string{
		0: `
id      n   of  why             without values
a       1  200  a long\treason
漢字x  30    4`,
		45: `
id      n   of  why
a       1  200  a long\treason
漢字x  30    4`,
		31: `
id      n   of  why
a       1  200  a long\treason
漢字x  30    4`,
		25: `
id      n   of  why
a       1  200  a long\t…
漢字x  30    4`,
		20: `
id     why
a      a long\treas…
漢字x`,
		6: `
id
a
漢字x`,
	} {
		if diff := cmp.Diff(want, "\n"+table.render(width)); diff != "" {
			t.Errorf("with width %d (-want +got):\n%s", width, diff)
		}
	}
}

// checkWidths checks that no line of a text is wider than a terminal of the given width.
func checkWidths(t *testing.T, name, text string, width int) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if n := cellWidth(line); n > width {
			t.Errorf("%s: a line has a width of %d, want at most %d: %s", name, n, width, line)
		}
	}
}
