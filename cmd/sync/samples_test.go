package main

import (
	"encoding/json"
	"flag"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/sim"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

var update = flag.Bool("update", false, "write generated pages and the samples of the documents instead of comparing them")

// pricesInCents multiplies prices by 100, as if the service sent them in cents.
func pricesInCents(_ string, object map[string]any) {
	text, isText := object["unit_amount"].(string)
	if number, ok := object["unit_amount"].(json.Number); ok {
		text = number.String()
	}
	if text == "" {
		return
	}
	amount, _ := new(big.Rat).SetString(text)
	text = amount.Mul(amount, big.NewRat(100, 1)).FloatString(6)
	if isText {
		object["unit_amount"] = text
	} else {
		object["unit_amount"] = json.Number(text)
	}
}

// TestTrialSamples runs the samples of README.md and docs and compares their output. A sample is a
// block that is marked "console":
//
//	$ command       a command line of placementsync
//	output          its output on stdout and stderr
//	...             any number of lines, including 0
//
// The blocks of one document run in order in one folder, which contains the demo in demo/, and a
// configuration with the same warehouse. On the day after the demo the service sends prices in
// cents, because docs/guide/checks.md shows a check that finds them. Variable parts of the output
// are masked, see masks.
func TestTrialSamples(t *testing.T) {
	harness.Long(t)
	documents := documentsWithSamples(t)
	if len(documents) == 0 {
		t.Fatal("no document has a block that is marked console")
	}
	home := t.TempDir()
	demoOutput := runSample(t, home, []string{"placementsync", "demo"})
	t.Run("retention", func(t *testing.T) { checkDemoRetention(t, filepath.Join(home, "demo")) })
	service := sim.New(sim.Options{Seed: 1, Realistic: true, Token: demoToken})
	baseURL, stop, err := service.Serve()
	harness.Must(t, err)
	t.Cleanup(func() { harness.Must(t, stop()) })
	service.Advance(15)
	service.SetValueFaults(sim.ValueFault{Change: pricesInCents, Day: service.Day()})
	urlPattern := regexp.MustCompile(`http://[0-9.:]+`)
	for _, document := range documents {
		t.Run(filepath.Base(document), func(t *testing.T) {
			dir := t.TempDir()
			harness.Must(t, os.CopyFS(filepath.Join(dir, "demo"), os.DirFS(filepath.Join(home, "demo"))))
			config := filepath.Join(dir, "demo", "config.yaml")
			harness.Must(t, os.WriteFile(config, []byte(urlPattern.ReplaceAllString(read(t, config), baseURL)), 0o600))
			harness.Must(t, os.Chmod(config, 0o600)) // the copy is readable by others
			// Commands without --config use the newest snapshot of the demo too. A first night has the same records.
			harness.Must(t, os.Symlink(filepath.Join("demo", "warehouse"), filepath.Join(dir, "warehouse")))
			harness.Must(t, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(read(t, config)), 0o600))
			lines := strings.Split(read(t, document), "\n")
			var newLines []string
			for lineIndex := 0; lineIndex < len(lines); lineIndex++ {
				newLines = append(newLines, lines[lineIndex])
				for inBlock := lines[lineIndex] == "```console"; inBlock && strings.HasPrefix(lines[lineIndex+1], "$ "); {
					command := lines[lineIndex+1]
					end := lineIndex + 2
					for lines[end] != "```" && !strings.HasPrefix(lines[end], "$ ") {
						end++
					}
					shown, got := lines[lineIndex+2:end], demoOutput
					if args := splitWords(command[2:], `"'`); !slices.Equal(args[1:], []string{"demo"}) {
						got = runSample(t, dir, args)
					}
					if !matchesSample(maskLines(t, dir, shown), maskLines(t, dir, got)) {
						if !*update {
							t.Errorf("%s:%d: %s\nshows:\n%s\nprints:\n%s\ncorrect the sample, or update all samples with\n  go test -tags duckdb_arrow ./cmd/sync -run TestTrialSamples -update",
								document, lineIndex+2, command, strings.Join(shown, "\n"), strings.Join(got, "\n"))
						}
						shown = updatedSample(shown, got)
					}
					newLines = append(append(newLines, command), shown...)
					lineIndex = end - 1
				}
			}
			if *update {
				harness.Must(t, os.WriteFile(document, []byte(strings.Join(newLines, "\n")), 0o644))
			}
		})
	}
}

// checkDemoRetention checks that a demo of 14 nights, like "serve", keeps the stored responses of the
// last seven nights. Seven is the default of retention.raw_days.
func checkDemoRetention(t *testing.T, dir string) {
	runs, err := os.ReadDir(filepath.Join(dir, "warehouse", "raw"))
	harness.Must(t, err)
	var days []string
	for _, run := range runs {
		runTime, ok := warehouse.RunTime(run.Name())
		if !ok {
			t.Fatalf("the folder of stored responses contains %s, want only folders of runs", run.Name())
		}
		days = append(days, runTime.Format(time.DateOnly))
	}
	if len(days) == 0 {
		t.Fatal("no night has stored responses")
	}
	newest, err := time.Parse(time.DateOnly, days[len(days)-1])
	harness.Must(t, err)
	var want []string
	for i := 6; i >= 0; i-- {
		want = append(want, newest.AddDate(0, 0, -i).Format(time.DateOnly))
	}
	if !slices.Equal(days, want) {
		t.Errorf("the demo has stored responses of %q, want %q", days, want)
	}
}

func documentsWithSamples(t *testing.T) []string {
	t.Helper()
	var documents []string
	for _, pattern := range []string{"../../README.md", "../../docs/*.md", "../../docs/*/*.md"} {
		files, err := filepath.Glob(pattern)
		harness.Must(t, err)
		for _, file := range files {
			if strings.Contains(read(t, file), "\n```console\n") {
				documents = append(documents, file)
			}
		}
	}
	return documents
}

// runSample runs one command and returns the lines of its output.
func runSample(t *testing.T, dir string, args []string) []string {
	t.Helper()
	if filepath.Base(args[0]) != "placementsync" {
		t.Fatalf("a sample runs %q: only placementsync can be shown in a console block", args[0])
	}
	cmd := exec.CommandContext(t.Context(), "placementsync", args[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if _, isExit := err.(*exec.ExitError); err != nil && !isExit {
		t.Fatal(err)
	}
	if len(out) == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// masks replace variable parts. The nights of the demo are always at 02:00:00. Any other
// time comes from the clock.
var masks = []struct {
	pattern *regexp.Regexp
	mask    string
}{
	{regexp.MustCompile(`\b\d+(?:\.\d+)? ?(?:µs|ms|s|m\d+s)\b`), "<duration>"},
	{regexp.MustCompile(`\b\d+(?:\.\d+)? (?:B|[KMG]iB)\b`), "<size>"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:<port>"},
	{regexp.MustCompile(`\b\d{8}T(?:0[013-9]|[12]\d|02(?:0[1-9]|[1-5]\d))\d*Z`), "<run>"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ](?:0[013-9]|[12]\d|02:(?:0[1-9]|[1-5]\d)):[\d:.]*Z?`), "<time>"},
	{regexp.MustCompile(`^placementsync (?:dev|\d+\.\d+\.\d+)$`), "placementsync <version>"},
	{regexp.MustCompile(`^(commit|duckdb|arrow|go|platform|schema) {2,}.+$`), "$1 <build>"},
	{regexp.MustCompile(`─+`), "─"},
	{regexp.MustCompile(`[ \t]+`), " "},
}

func maskLines(t *testing.T, dir string, lines []string) []string {
	t.Helper()
	out := make([]string, len(lines))
	for i, line := range lines {
		line = strings.ReplaceAll(line, dir+"/", "")
		for _, m := range masks {
			line = m.pattern.ReplaceAllString(line, m.mask)
		}
		out[i] = strings.TrimSpace(line)
	}
	return out
}

// anyLines is the line of a sample that matches any number of lines.
const anyLines = "..."

func matchesSample(shown, got []string) bool {
	switch {
	case len(shown) == 0:
		return len(got) == 0
	case shown[0] != anyLines:
		return len(got) > 0 && shown[0] == got[0] && matchesSample(shown[1:], got[1:])
	}
	for skipped := range len(got) + 1 {
		if matchesSample(shown[1:], got[skipped:]) {
			return true
		}
	}
	return false
}

// updatedSample shortens the new output like the sample, whose parts are separated by anyLines.
// Each part keeps its number of lines. The first part comes from the beginning of the output, the
// last from its end. Any other part begins at the output line that starts with the first word of
// the part.
func updatedSample(shown, got []string) []string {
	var out []string
	rest, parts := got, splitSample(shown)
	for i, part := range parts {
		from, to := 0, min(len(part), len(rest))
		switch {
		case len(parts) == 1:
			to = len(rest)
		case i == 0:
		case i == len(parts)-1:
			from, to = len(rest)-to, len(rest)
		default:
			first := strings.Fields(strings.Join(part, " ") + " ?")[0] // "?" for an empty part
			from = max(0, slices.IndexFunc(rest, func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), first) }))
			to = min(from+len(part), len(rest))
		}
		if i > 0 {
			out = append(out, anyLines)
		}
		out, rest = append(out, rest[from:to]...), rest[to:]
	}
	return out
}

func splitSample(lines []string) [][]string {
	parts := [][]string{nil}
	for _, line := range lines {
		if line == anyLines {
			parts = append(parts, nil)
			continue
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], line)
	}
	return parts
}

func TestSamplesAreCompared(t *testing.T) {
	got := []string{"head", "a 1", "b 2", "c 3", "end"}
	for name, c := range map[string]struct {
		shown   string
		matches bool
		updated string
	}{
		"complete":           {"head|a 1|b 2|c 3|end", true, "head|a 1|b 2|c 3|end"},
		"empty":              {"", false, "head|a 1|b 2|c 3|end"},
		"only the beginning": {"head|...", true, "head|..."},
		"only the end":       {"...|c 3|end", true, "...|c 3|end"},
		"lines left out":     {"head|...|b 2|...|end", true, "head|...|b 2|...|end"},
		"no line left out":   {"head|a 1|b 2|...|c 3|end", true, "head|a 1|b 2|...|c 3|end"},
		"without the end":    {"head|a 1", false, "head|a 1|b 2|c 3|end"},
		"stale":              {"head|...|b 7|...|END", false, "head|...|b 2|...|end"},
		"stale beginning":    {"Head|a 1|...", false, "head|a 1|..."},
	} {
		var shown []string
		if c.shown != "" {
			shown = strings.Split(c.shown, "|")
		}
		if matches := matchesSample(shown, got); matches != c.matches {
			t.Errorf("%s: matches %t, want %t", name, matches, c.matches)
		}
		if updated := strings.Join(updatedSample(shown, got), "|"); updated != c.updated {
			t.Errorf("%s: updated to %s, want %s", name, updated, c.updated)
		}
	}
	line := maskLines(t, "/tmp/x", []string{"run 20261122T040047Z of 2026-11-22T04:00:47.1Z:  12.0 KiB in 1.5s at http://127.0.0.1:4711 into /tmp/x/demo ────"})
	if want := "run <run> of <time>: <size> in <duration> at http://127.0.0.1:<port> into demo ─"; line[0] != want {
		t.Errorf("masked %q, want %q", line[0], want)
	}
	for unmasked, want := range map[string]string{"placementsync 1.0.0": "placementsync <version>", "commit    unknown": "commit <build>",
		"go        1.26.0": "go <build>", "format    1": "format 1", "go ahead": "go ahead"} {
		if line := maskLines(t, "/tmp/x", []string{unmasked}); line[0] != want {
			t.Errorf("masked %q, want %q", line[0], want)
		}
	}
	unmasked := "20261104T020000Z-2 of 2026-11-04T02:00:00Z has 400 rows"
	if line := maskLines(t, "/tmp/x", []string{unmasked}); line[0] != unmasked {
		t.Errorf("masked %q, want %q unchanged", line[0], unmasked)
	}
}
