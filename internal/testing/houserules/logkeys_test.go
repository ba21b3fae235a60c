package houserules_test

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// visitLogKeys calls visit for each log key in a file, such as "run" in
// log.Info("message", "run", id) and in log.With("run", id).
func visitLogKeys(s source, visit func(key string, pos token.Pos)) {
	for node := range ast.Preorder(s.file) {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			continue
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		if logger := strings.ToLower(lastName(method.X)); !strings.HasSuffix(logger, "log") && !strings.HasSuffix(logger, "logger") {
			continue
		}
		first := firstKey(method.Sel.Name)
		for i := first; first >= 0 && i < len(call.Args); i += 2 {
			if lit, ok := call.Args[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				key, _ := strconv.Unquote(lit.Value)
				visit(key, lit.Pos())
			}
		}
	}
}

// firstKey returns the index of the first key in the arguments of a logger's method, or -1.
func firstKey(method string) int {
	level, hasContext := strings.CutSuffix(method, "Context")
	switch {
	case method == "With":
		return 0
	case method == "Log":
		return 3
	case !slices.Contains([]string{"Debug", "Info", "Warn", "Error"}, level):
		return -1
	case hasContext:
		return 2
	}
	return 1
}

// lastName returns the last identifier of an expression such as n.cfg.Log.
func lastName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	case *ast.CallExpr: // g.newLogger()
		return lastName(x.Fun)
	}
	return ""
}

var keyRow = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|")

// logKeyCheck returns a check that compares the log keys in the code with the documented table.
// Each key in the code must have a row, and the code must use the key of each row.
func logKeyCheck(documented string) func(tree) []finding {
	return func(t tree) []finding {
		const page = "docs/operations.md"
		isUsed := map[string]bool{} // by listed key
		for _, m := range keyRow.FindAllStringSubmatch(documented, -1) {
			isUsed[m[1]] = false
		}
		var findings []finding
		for s := range t.code() {
			visitLogKeys(s, func(key string, pos token.Pos) {
				if _, isListed := isUsed[key]; !isListed {
					findings = append(findings, s.finding(pos, "use a listed key, or add this key to "+page, "the log key %q is not listed", key))
				}
				isUsed[key] = true
			})
		}
		for key, used := range isUsed {
			if !used {
				findings = append(findings, finding{page, 1, "no code logs the key " + key, "remove the row"})
			}
		}
		return findings
	}
}

// logKeySection returns the section of docs/operations.md that lists the log keys.
func logKeySection(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(page), "\n### Log keys\n")
	if !ok {
		t.Fatal("docs/operations.md lacks the section \"### Log keys\"")
	}
	section, _, _ = strings.Cut(section, "\n#")
	return section
}

func TestLogKeysAreListed(t *testing.T) {
	for _, f := range logKeyCheck(logKeySection(t))(projectTree(t)) {
		t.Error(f)
	}
	testRule(t, logKeyCheck("| `run` | id |\n| `stream` | name |\n"), []ruleCase{
		{"an unlisted key", map[string]string{"a/a.go": "package a\nfunc f() { x.log.With(\"run\", 1).Info(\"m\", \"run\", 1); cfg.Log.WarnContext(ctx, \"m\", \"stream\", 1, \"err\", 2) }"},
			[]string{"a/a.go:2: the log key \"err\" is not listed"}},
		{"an unlisted key in a call of Log, and in a call of a new logger", map[string]string{"a/a.go": "package a\nfunc f() { x.log.Log(ctx, level, \"m\", \"run\", 1, \"err\", 2) }\nfunc g() { x.newLogger().Warn(\"m\", \"stream\", 1, \"no\", 2) }"},
			[]string{"a/a.go:2: the log key \"err\" is not listed", "a/a.go:3: the log key \"no\" is not listed"}},
		{"an unused key", map[string]string{"a/a.go": "package a\nfunc f() { log.Error(\"m\", \"run\", 1) }"},
			[]string{"docs/operations.md:1: no code logs the key stream"}},
	})
}
