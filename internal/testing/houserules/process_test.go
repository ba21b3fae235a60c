package houserules_test

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// ban forbids the use of some names of a package.
type ban struct {
	importPath string
	names      []string
	except     []string // folders or files where the names are allowed
	inTests    bool     // the names are forbidden in tests too
	remedy     string
}

func bans() []ban {
	return []ban{
		{importPath: "os", names: []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Args", "Stdin", "Stdout", "Stderr", "Exit"},
			except: []string{"cmd/sync", "cmd/lake"}, remedy: "take it as an argument from cmd/sync"},
		{importPath: "fmt", names: []string{"Print", "Printf", "Println"},
			except: []string{"cmd/sync", "cmd/lake"}, remedy: "write to an io.Writer argument"},
		{importPath: "log/slog", names: []string{
			"Debug", "DebugContext", "Info", "InfoContext", "Warn", "WarnContext", "Error", "ErrorContext",
			"Log", "LogAttrs", "With", "Default", "SetDefault",
		}, inTests: true, remedy: "take a *slog.Logger"},
		{importPath: "github.com/prometheus/client_golang/prometheus",
			names:   []string{"DefaultRegisterer", "DefaultGatherer", "Register", "MustRegister", "Unregister"},
			inTests: true, remedy: "take a *prometheus.Registry"},
		{importPath: "github.com/prometheus/client_golang/prometheus/promhttp", names: []string{"Handler", "InstrumentMetricHandler"},
			inTests: true, remedy: "use promhttp.HandlerFor with a registry argument"},
		{importPath: "github.com/prometheus/client_golang/prometheus/promauto",
			names:   []string{"NewCounter", "NewCounterVec", "NewGauge", "NewGaugeVec", "NewHistogram", "NewHistogramVec"},
			inTests: true, remedy: "use promauto.With(registry)"},
		{importPath: "os", names: []string{"Rename", "Link", "Symlink"}, except: []string{"internal/durable"},
			remedy: "use internal/durable: a rename without fsync may lose both files"},
	}
}

// findForbiddenNames finds uses of forbidden names, and of the clock in internal/transform.
func findForbiddenNames(t tree) []finding {
	var findings []finding
	for _, s := range t.sources {
		for selector, used := range s.uses() {
			for _, b := range bans() {
				if b.covers(s) && b.importPath == used.importPath && slices.Contains(b.names, used.name) {
					findings = append(findings, s.finding(selector.Pos(), b.remedy, "%s.%s is used", selector.X, used.name))
				}
			}
			isClock := used.importPath == "time" && slices.Contains([]string{"Now", "Since", "Until", "After", "Sleep"}, used.name)
			if isClock && s.dir() == "internal/transform" && !s.isTest() {
				findings = append(findings, s.finding(selector.Pos(), "take the time as an argument", "time.%s is used in a pure package", used.name))
			}
		}
	}
	return findings
}

func (b ban) covers(s source) bool {
	return (b.inTests || !s.isTest()) && !isWithin(s.path, b.except)
}

// findSleeps finds time.Sleep in tests. In a bubble of testing/synctest it is allowed, because the
// clock of a bubble is simulated.
func findSleeps(t tree) []finding {
	var findings []finding
	for _, s := range t.sources {
		if !s.isTest() {
			continue
		}
		bubbles := findBubbles(s)
		for selector, used := range s.uses() {
			inBubble := slices.ContainsFunc(bubbles, func(call *ast.CallExpr) bool { return encloses(call, selector.Pos()) })
			if used == (importedName{"time", "Sleep"}) && !inBubble {
				findings = append(findings, s.finding(selector.Pos(), "wait for the event, or run the test in synctest.Test", "the test sleeps"))
			}
		}
	}
	return findings
}

func findBubbles(s source) []*ast.CallExpr {
	var calls []*ast.CallExpr
	for node := range ast.Preorder(s.file) {
		if call, ok := node.(*ast.CallExpr); ok && selectorName(call.Fun) == "synctest.Test" {
			calls = append(calls, call)
		}
	}
	return calls
}

// findHiddenTrials finds calls of requireTrials outside of tests whose names begin with TestTrial.
// Another test with such a call would never run: "make test" skips it, and the targets of trials run only
// tests whose names begin with TestTrial.
func findHiddenTrials(t tree) []finding {
	var findings []finding
	for _, s := range t.sources {
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || strings.HasPrefix(f.Name.Name, "TestTrial") {
				continue
			}
			for node := range ast.Preorder(f) {
				call, ok := node.(*ast.CallExpr)
				if !ok {
					continue
				}
				if called, ok := call.Fun.(*ast.Ident); ok && called.Name == "requireTrials" {
					findings = append(findings, s.finding(call.Pos(), "call it in a test whose name begins with TestTrial", "%s calls requireTrials", f.Name.Name))
				}
			}
		}
	}
	return findings
}

// encloses reports whether a position is in a node.
func encloses(node ast.Node, pos token.Pos) bool { return node.Pos() <= pos && pos < node.End() }

func TestForbiddenNamesAreFound(t *testing.T) {
	forbidden := func(name, dir, imported, code, violation string) ruleCase {
		file := dir + "/a.go"
		return ruleCase{name, map[string]string{file: "package a\nimport " + imported + "\nfunc f() { " + code + " }"},
			[]string{file + ":3: " + violation}}
	}
	testRule(t, findForbiddenNames, []ruleCase{
		forbidden("environment", "internal/fetch", `"os"`, `os.Getenv("A")`, "os.Getenv is used"),
		forbidden("environment by another name", "internal/fetch", `sys "os"`, `sys.Exit(1)`, "sys.Exit is used"),
		forbidden("printing", "internal/fetch", `"fmt"`, `fmt.Println()`, "fmt.Println is used"),
		forbidden("the default logger", "cmd/sync", `"log/slog"`, `slog.Info("a")`, "slog.Info is used"),
		forbidden("the default registry", "internal/daemon", `"github.com/prometheus/client_golang/prometheus"`,
			`prometheus.MustRegister()`, "prometheus.MustRegister is used"),
		forbidden("a rename", "internal/fetch", `"os"`, `os.Rename("a", "b")`, "os.Rename is used"),
		forbidden("the clock in internal/transform", "internal/transform", `"time"`, `time.Now()`, "time.Now is used in a pure package"),
		{"allowed uses", map[string]string{
			"cmd/sync/a.go":            "package main\nimport (\"os\"; \"fmt\")\nfunc f() { fmt.Println(os.Args) }",
			"internal/durable/a.go":    "package durable\nimport \"os\"\nfunc f() { os.Rename(\"a\", \"b\") }",
			"internal/fetch/a.go":      "package fetch\nimport (\"os\"; \"log/slog\")\nfunc f() { os.ReadFile(\"a\"); slog.New(nil) }",
			"internal/fetch/a_test.go": "package fetch\nimport \"os\"\nfunc f() { os.Getenv(\"A\") }",
		}, nil},
	})
}

func TestHiddenTrialsAreFound(t *testing.T) {
	testRule(t, findHiddenTrials, []ruleCase{
		{"a call in a helper", map[string]string{"a/a_test.go": "package a\nfunc newStore(t T) { requireTrials(t) }"},
			[]string{"a/a_test.go:2: newStore calls requireTrials"}},
		{"a call in a trial", map[string]string{"a/a_test.go": "package a\nfunc TestTrialA(t T) { f(func() { requireTrials(t) }) }"}, nil},
		{"a call in a test without the prefix TestTrial", map[string]string{"a/a_test.go": "package a\nfunc TestA(t T) { requireTrials(t) }"},
			[]string{"a/a_test.go:2: TestA calls requireTrials"}},
	})
}

func TestSleepsAreFound(t *testing.T) {
	const head = "package a\nimport (\"time\"; \"testing/synctest\")\n"
	testRule(t, findSleeps, []ruleCase{
		{"a sleep in a test", map[string]string{"a/a_test.go": head + "func f() { time.Sleep(1) }"},
			[]string{"a/a_test.go:3: the test sleeps"}},
		{"a sleep in a bubble", map[string]string{"a/a_test.go": head + "func f() { synctest.Test(nil, func() { time.Sleep(1) }) }"}, nil},
		{"a sleep in code", map[string]string{"a/a.go": head + "func f() { time.Sleep(1) }"}, nil},
	})
}
