package torture_test

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"placementsync/internal/config"
	"placementsync/internal/testing/torture"
)

var update = flag.Bool("update", false, "write the page instead of comparing it")

// words are the hand-written parts of the page.
//
//go:embed reliability.tmpl.md
var words string

// TestReliabilityPage compares docs/reliability.md with the stored results.
func TestReliabilityPage(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "docs")
	book := torture.Book{Docs: docs}
	rows, err := book.Rows()
	must(t, err)
	trials, err := book.Trials()
	must(t, err)
	want := page(t, rows, trials)
	file := filepath.Join(docs, "reliability.md")
	if *update {
		must(t, os.WriteFile(file, []byte(want), 0o644))
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("docs/reliability.md differs from its stored results (%v): run go test ./internal/testing/torture -update", err)
	}
}

// TestFindingsHold fails if a stored result is a failure.
func TestFindingsHold(t *testing.T) {
	book := torture.Book{Docs: filepath.Join("..", "..", "..", "docs")}
	rows, err := book.Rows()
	must(t, err)
	for _, r := range rows {
		if r.Wrong+r.Lost > 0 || r.Exact+r.Partial+r.Failed != r.Runs {
			t.Errorf("%s at %s failed: %+v", r.Fault, r.Rate, r)
		}
	}
	trials, err := book.Trials()
	must(t, err)
	for _, one := range trials {
		if !one.Held {
			t.Errorf("trial %q failed: %s", one.Name, one.Outcome)
		}
	}
}

// page combines the hand-written parts with the results.
func page(t *testing.T, rows []torture.Row, trials []torture.Trial) string {
	t.Helper()
	text := words
	for name, part := range map[string]string{
		"matrix -->\n": matrixTable(rows), "trials -->\n": trialTable(trials), "bounds -->\n": boundTable(t),
		"memory -->": valueOf(t, "warehouse.memory_limit"),
	} {
		text = strings.ReplaceAll(text, "<!-- "+name, part)
	}
	return text
}

func matrixTable(rows []torture.Row) string {
	var b strings.Builder
	b.WriteString("| fault | rate | nights | requests | met the fault | exact | says so | failed | wrong | lost | longest | memory | tried |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d | %d | %d | %d | %s | %.1f s | %d MiB | %s |\n", r.Fault, r.Rate, r.Runs, r.Asked,
			r.Struck, r.Exact, r.Partial, r.Failed, r.Wrong, nothing(r.Lost), r.Longest, r.Peak>>20, r.Date)
	}
	return b.String()
}

func nothing(n int) string {
	if n == 0 {
		return "nothing"
	}
	return fmt.Sprint(n)
}

func trialTable(trials []torture.Trial) string {
	var b strings.Builder
	b.WriteString("| trial | what is done | runs | outcome | held | took | tried |\n|---|---|---|---|---|---|---|\n")
	for _, one := range trials {
		held := "yes"
		if !one.Held {
			held = "**no**"
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %s | %.0f s | %s |\n", one.Name, one.Fault, one.Runs, one.Outcome, held, one.Took, one.Date)
	}
	return b.String()
}

// bound is a configuration key and the wait that it limits.
type bound struct{ key, what string }

func bounds() []bound {
	return []bound{
		{"api.timeout", "one attempt from dialling to the last byte of the body: a service that does not answer, a handshake that hangs, a body that trickles"},
		{"api.retry.max_retries", "how often a request is repeated after 429, 500, 502, 503, 504, an error of the network or an answer that cannot be read; nothing else is repeated"},
		{"api.retry.max", "the delay before a repeat (`api.retry.jitter` of it may be added), and a Retry-After of whatever length; also the pause of all requests after a 429"},
		{"api.requests_per_second", "the wait for a turn; after a 429 the rate falls by three tenths a second at most, and comes back by a tenth of the full one a second"},
		{"api.max_body", "one answer, unpacked: a bomb, an endless body, a huge record; bodies beyond 8 MiB are decoded one at a time"},
		{"streams.max_passes", "how often a list that changes while it is read is read again"},
		{"streams.max_pages", "a chain of pages, whatever total the service states; a chain with a total ends earlier, at twice the pages that it makes and 16"},
		{"run.resume_max_age", "how long a run that did not publish is taken up again"},
		{"run.max_duration", "how long a run reads: then nothing more is begun, what was read is published, and the following nights read the rest"},
		{"warehouse.memory_limit", "DuckDB's memory; the process needs up to 480 MiB more"},
		{"serve.webhook_max_age", "how old a delivery may be"},
	}
}

func boundTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| key | default | what it bounds |\n|---|---|---|\n")
	for _, one := range bounds() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", one.key, valueOf(t, one.key), one.what)
	}
	return b.String()
}

// valueOf returns the default of a configuration key.
func valueOf(t *testing.T, key string) string {
	t.Helper()
	v := reflect.ValueOf(config.Default())
	for name := range strings.SplitSeq(key, ".") {
		field := -1
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("yaml") == name {
				field = i
			}
		}
		if field < 0 {
			t.Fatalf("the configuration has no key %s", key)
		}
		v = v.Field(field)
	}
	text := fmt.Sprint(v.Interface())
	if before, zero := strings.CutSuffix(text, "m0s"); zero {
		text = strings.TrimSuffix(before+"m", "h0m")
		if text != before+"m" {
			text += "h"
		}
	}
	return text
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
