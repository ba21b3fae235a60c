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

// pageTemplate contains the hand-written parts of docs/reliability.md.
//
//go:embed reliability.tmpl.md
var pageTemplate string

// TestReliabilityPage compares docs/reliability.md with the stored results.
func TestReliabilityPage(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "docs")
	store := torture.Store{Docs: docs}
	rows, err := store.Rows()
	must(t, err)
	trials, err := store.Trials()
	must(t, err)
	seasons, err := store.Seasons()
	must(t, err)
	want := page(t, rows, trials, seasons)
	file := filepath.Join(docs, "reliability.md")
	if *update {
		must(t, os.WriteFile(file, []byte(want), 0o644))
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("docs/reliability.md differs from the page generated from the stored results (%v): run go test ./internal/testing/torture -update", err)
	}
}

// TestStoredResultsPassed checks that no stored result is a failure.
func TestStoredResultsPassed(t *testing.T) {
	store := torture.Store{Docs: filepath.Join("..", "..", "..", "docs")}
	rows, err := store.Rows()
	must(t, err)
	for _, r := range rows {
		if r.Wrong+r.Lost > 0 || r.Exact+r.Partial+r.Failed != r.Runs {
			t.Errorf("row %q at rate %q: got %+v, want no wrong night, no lost row, and each night counted once", r.Fault, r.Rate, r)
		}
	}
	trials, err := store.Trials()
	must(t, err)
	for _, trial := range trials {
		if !trial.Passed {
			t.Errorf("the stored result of trial %q is a failure: %s", trial.Name, trial.Outcome)
		}
	}
	seasons, err := store.Seasons()
	must(t, err)
	for _, s := range seasons {
		if !s.Passed {
			t.Errorf("the stored result of the season with seed %d is a failure", s.Seed)
		}
	}
}

// page combines the hand-written parts with the results.
func page(t *testing.T, rows []torture.Row, trials []torture.Trial, seasons []torture.Season) string {
	t.Helper()
	text := pageTemplate
	for placeholder, part := range map[string]string{ // placeholders without their beginning "<!-- "
		"matrix -->\n":  matrixTable(rows),
		"trials -->\n":  trialTable(trials),
		"bounds -->\n":  boundTable(t),
		"seasons -->\n": seasonTable(seasons),
		"memory -->":    defaultOf(t, "warehouse.memory_limit"),
	} {
		text = strings.ReplaceAll(text, "<!-- "+placeholder, part)
	}
	return text
}

func matrixTable(rows []torture.Row) string {
	var b strings.Builder
	b.WriteString("| fault | rate | nights | requests | affected requests | exact | reported | failed | wrong | lost | longest | memory | date |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d | %d | %d | %d | %d | %.1f s | %d MiB | %s |\n", r.Fault, r.Rate, r.Runs, r.Requests,
			r.Affected, r.Exact, r.Partial, r.Failed, r.Wrong, r.Lost, r.Longest, r.Peak>>20, r.Date)
	}
	return b.String()
}

func trialTable(trials []torture.Trial) string {
	var b strings.Builder
	b.WriteString("| trial | procedure | runs | outcome | passed | duration | date |\n|---|---|---|---|---|---|---|\n")
	for _, trial := range trials {
		passed := "yes"
		if !trial.Passed {
			passed = "**no**"
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %s | %.0f s | %s |\n", trial.Name, trial.Procedure, trial.Runs, trial.Outcome, passed, trial.Seconds, trial.Date)
	}
	return b.String()
}

// seasonColumn is a column of the table of seasons. It contains the sum of some of Season.Counts.
type seasonColumn struct {
	head  string
	names []string
}

func seasonColumns() []seasonColumn {
	return []seasonColumn{
		{"published", []string{"published"}}, {"held", []string{"held"}}, {"not published", []string{"failed", "refused", "stopped"}},
		{"kills", []string{"kill"}}, {"power cuts", []string{"power cut"}}, {"disk errors", []string{"disk error"}},
		{"faulty nights", []string{"fault", "fault of an endpoint", "token revoked"}}, {"moving lists", []string{"moving lists"}},
		{"wrong values", []string{"wrong values"}}, {"clock jumps", []string{"clock jump"}}, {"rollbacks", []string{"rollback"}},
		{"rebuilds", []string{"rebuild"}}, {"restores", []string{"restore"}}, {"nights with webhooks", []string{"webhooks"}},
	}
}

func seasonTable(seasons []torture.Season) string {
	if len(seasons) == 0 {
		return "There are no results yet.\n"
	}
	var b strings.Builder
	b.WriteString("| seed | begins with | nights |")
	for _, c := range seasonColumns() {
		fmt.Fprintf(&b, " %s |", c.head)
	}
	b.WriteString(" passed | duration | date |\n" + strings.Repeat("|---", 6+len(seasonColumns())) + "|\n")
	for _, s := range seasons {
		begin, passed := "an empty folder", "yes"
		if s.Upgrade {
			begin = "1.0.0"
		}
		if !s.Passed {
			passed = "**no**"
		}
		fmt.Fprintf(&b, "| %d | %s | %d |", s.Seed, begin, s.Nights)
		for _, c := range seasonColumns() {
			n := 0
			for _, name := range c.names {
				n += s.Counts[name]
			}
			fmt.Fprintf(&b, " %d |", n)
		}
		fmt.Fprintf(&b, " %s | %.0f s | %s |\n", passed, s.Seconds, s.Date)
	}
	return b.String()
}

// bound is a configuration key that limits a time, a rate, a number or a size.
type bound struct{ key, limits string }

func bounds() []bound {
	return []bound{
		{"api.timeout", "the time of one attempt, from the connection to the last byte of the body"},
		{"api.retry.max_retries", "the repetitions of a request after status 429, 500, 502, 503 or 504, a network error or an unreadable response; after other errors a request is not repeated"},
		{"api.retry.max", "the delay before a repetition, without the random addition of `api.retry.jitter`, and the pause of all requests after status 429, even if Retry-After is longer"},
		{"api.requests_per_second", "the rate of requests; after status 429 the rate drops by at most 30 % per second and recovers by 10 % of the full rate per second"},
		{"api.max_body", "the size of a decompressed body; at most `api.concurrency` bodies are in memory at a time"},
		{"streams.max_passes", "the number of passes over a list that changes while it is read"},
		{"streams.max_pages", "the number of pages of one list; if the service returns the total of a list, the limit is at most twice the expected number plus 16"},
		{"run.resume_max_age", "the age up to which an unpublished run can be resumed"},
		{"run.max_duration", "the reading time of a run; after this time no new request is started, the records read so far are published, and the following nights read the other records"},
		{"warehouse.memory_limit", "the memory of DuckDB; the process needs up to 480 MiB more"},
		{"serve.webhook_max_age", "the age of accepted deliveries"},
	}
}

func boundTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| key | default | limits |\n|---|---|---|\n")
	for _, bound := range bounds() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", bound.key, defaultOf(t, bound.key), bound.limits)
	}
	return b.String()
}

// defaultOf returns the default of a configuration key.
func defaultOf(t *testing.T, key string) string {
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
	// A duration such as 6h0m0s becomes 6h.
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
