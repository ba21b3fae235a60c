package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/cli"
	"placementsync/internal/testing/harness"
)

// TestShownCommandsAreTested checks that every command in the README and at the end of the demo is
// tested: commands of the program by a script, targets of make by .ci/run. TestTrialSamples runs the
// blocks that are marked "console".
func TestShownCommandsAreTested(t *testing.T) {
	var hints strings.Builder
	harness.Must(t, showCommands(&globals{process: process{stdout: &hints}, Flags: cli.Flags{Config: "demo/config.yaml"}}, false))
	testedCommands := slices.Concat(scriptCommands(t), ciCommands(t))
	for _, place := range []struct {
		name        string
		lines       []string
		minCommands int // fewer commands mean that this test no longer finds them
	}{
		{"README.md", shellLines(t, "../../README.md"), 5},
		{"the end of the demo", strings.Split(hints.String(), "\n"), 5},
	} {
		t.Run(place.name, func(t *testing.T) {
			commandCount := 0
			for _, line := range place.lines {
				command := splitWords(strings.TrimSpace(line), `"'`)
				if len(command) == 0 || !slices.Contains([]string{"placementsync", "make"}, filepath.Base(command[0])) {
					continue
				}
				commandCount++
				command[0] = filepath.Base(command[0])
				if !slices.ContainsFunc(testedCommands, func(other []string) bool { return slices.Equal(command, other) }) {
					t.Errorf("the command is not tested: %s\nadd it word for word to a script in cmd/sync/testdata/script or cmd/sync/testdata/trials, or, for make, to .ci/run", line)
				}
			}
			if commandCount < place.minCommands {
				t.Errorf("found %d commands, want %d or more", commandCount, place.minCommands)
			}
		})
	}
}

// TestGitIgnoresShownFiles checks that git ignores the files, including secrets, that the commands
// of the README and the guide write in the root of the repository.
func TestGitIgnoresShownFiles(t *testing.T) {
	pages, err := filepath.Glob("../../docs/guide/*.md")
	harness.Must(t, err)
	outputPattern := regexp.MustCompile(`(?:\s-o|--output|--to|--token-file|--dir|>>?) ([a-z][\w./-]*)(?:\s|$)`)
	writtenFiles := []string{"config.yaml", "warehouse/catalog.duckdb", "demo/config.yaml", "report.html", "bin/placementsync"}
	for _, page := range append(pages, "../../README.md") {
		inBlock := false
		for line := range strings.Lines(read(t, page)) {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				inBlock = !inBlock
			}
			for _, output := range outputPattern.FindAllStringSubmatch(line, -1) {
				if inBlock {
					writtenFiles = append(writtenFiles, output[1])
				}
			}
		}
	}
	if len(writtenFiles) < 10 {
		t.Errorf("found %q, want at least 10 files: this test no longer finds the others", writtenFiles)
	}
	for _, file := range writtenFiles {
		// If file is a folder, git may ignore only its content.
		cmd := exec.CommandContext(t.Context(), "git", "check-ignore", "--no-index", file, file+"/in")
		cmd.Dir = filepath.Join("..", "..")
		var exitErr *exec.ExitError
		switch err := cmd.Run(); {
		case errors.As(err, &exitErr) && exitErr.ExitCode() == 1:
			t.Errorf("the commands of the documentation write %s, which git must ignore", file)
		case err != nil:
			t.Skipf("this is no work tree of git: %v", err)
		}
	}
}

// TestExitCodesAreDocumented checks that each exit code in the help is in the README and is
// tested by a script.
func TestExitCodesAreDocumented(t *testing.T) {
	readme := read(t, "../../README.md")
	var scripts strings.Builder
	for _, script := range scriptFiles(t) {
		scripts.WriteString(read(t, script))
	}
	rows := regexp.MustCompile(`(?m)^  (\d+) +(.+)$`).FindAllStringSubmatch(exitCodes(), -1)
	if len(rows) != 6 {
		t.Fatalf("found %d exit codes in the help, want 6", len(rows))
	}
	for _, row := range rows {
		if !strings.Contains(readme, "| "+row[1]+" | "+row[2]) {
			t.Errorf("README.md does not describe exit code %s as %q", row[1], row[2])
		}
		if !regexp.MustCompile(`(?m)^(exits|ended) ` + row[1] + `\b`).MatchString(scripts.String()) {
			t.Errorf("no script ends with exit code %s", row[1])
		}
	}
}

// shellLines returns the lines of the blocks that are marked "sh".
func shellLines(t *testing.T, file string) []string {
	t.Helper()
	var lines []string
	inBlock := false
	for line := range strings.Lines(read(t, file)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			inBlock = line == "```sh"
		case inBlock:
			lines = append(lines, line)
		}
	}
	return lines
}

// scriptCommands returns the command lines of the program in all scripts.
func scriptCommands(t *testing.T) [][]string {
	t.Helper()
	programLine := regexp.MustCompile(`^(?:exec|start|exits \d+) (placementsync\b.*)$`)
	var commands [][]string
	for _, script := range scriptFiles(t) {
		for line := range strings.Lines(read(t, script)) {
			if m := programLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				// The documentation and the scripts use different services.
				commands = append(commands, splitWords(strings.ReplaceAll(m[1], "$SIM_URL", "https://api.example.com"), "'"))
			}
		}
	}
	return commands
}

func scriptFiles(t *testing.T) []string {
	t.Helper()
	scripts, err := filepath.Glob("testdata/[st]*/*.txtar") // the folders script and trials
	if err != nil || len(scripts) == 0 {
		t.Fatalf("found %d scripts (%v), want at least one", len(scripts), err)
	}
	return scripts
}

// ciCommands returns the make targets of .ci/run.
func ciCommands(t *testing.T) [][]string {
	t.Helper()
	var commands [][]string
	for _, m := range regexp.MustCompile(`(?m)^step (make .+)$`).FindAllStringSubmatch(read(t, "../../.ci/run"), -1) {
		commands = append(commands, strings.Fields(m[1]))
	}
	return commands
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	harness.Must(t, err)
	return string(text)
}

// splitWords splits a line at spaces, and removes quotes and a comment. Two quotes inside a quoted text
// are one quote, as in the .txtar scripts.
func splitWords(line, quotes string) []string {
	var words []string
	var word strings.Builder
	isInWord, quote := false, rune(0)
	endWord := func() {
		if isInWord {
			words = append(words, word.String())
		}
		word.Reset()
		isInWord = false
	}
	for i, r := range line {
		switch {
		case quote == 0 && strings.ContainsRune(quotes, r):
			if isInWord && i > 0 && rune(line[i-1]) == r {
				word.WriteRune(r)
			}
			quote, isInWord = r, true
		case r == quote:
			quote = 0
		case quote == 0 && r == '#' && !isInWord:
			return words
		case quote == 0 && r == ' ':
			endWord()
		default:
			word.WriteRune(r)
			isInWord = true
		}
	}
	endWord()
	return words
}

func TestSplitWords(t *testing.T) {
	for _, c := range []struct {
		line, quotes string
		want         []string
	}{
		{`bin/placementsync query "select 'a' from b" # why`, `"'`, []string{"bin/placementsync", "query", "select 'a' from b"}},
		{`query 'select ''a'' from b' --x=1`, `'`, []string{"query", "select 'a' from b", "--x=1"}},
		{`# all of it`, `"'`, nil},
	} {
		if got := splitWords(c.line, c.quotes); !slices.Equal(got, c.want) {
			t.Errorf("the words of %s: got %q, want %q", c.line, got, c.want)
		}
	}
}
