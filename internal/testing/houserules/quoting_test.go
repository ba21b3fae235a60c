package houserules_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// checkQuoting finds quotes around a value in SQL outside of quotingFile. Such quotes do not escape
// the value.
func checkQuoting(t tree) []finding {
	var found []finding
	for s := range t.code() {
		if !slices.Contains(sqlPackages(), s.dir()) || s.path == quotingFile {
			continue
		}
		for n := range ast.Preorder(s.file) {
			text, ok := stringOf(n)
			if ok && quotedVerb.MatchString(text) && sqlWord.MatchString(text) || quotesPiece(n) {
				found = append(found, s.find(n.Pos(), "use sqltext.Quote or sqltext.Literal", "hand-written quotes around a value in SQL"))
			}
		}
	}
	return found
}

// quotesPiece reports whether a concatenation is SQL with an opening quote before an operand
// that is not a literal.
func quotesPiece(n ast.Node) bool {
	sum, ok := n.(*ast.BinaryExpr)
	if !ok || sum.Op != token.ADD {
		return false
	}
	left, lit := stringOf(sum.X)
	if inner, ok := sum.X.(*ast.BinaryExpr); ok {
		left, lit = stringOf(inner.Y)
	}
	_, constant := stringOf(sum.Y)
	return lit && !constant && (strings.HasSuffix(left, "'") || strings.HasSuffix(left, `"`)) && sqlWord.MatchString(left)
}

const quotingFile = "internal/sqltext/sqltext.go"

// sqlPackages are the packages that write SQL.
func sqlPackages() []string {
	return []string{"internal/sqltext", "internal/warehouse", "internal/load", "internal/query", "internal/pipeline", "internal/report", "cmd/sync"}
}

var (
	quotedVerb = regexp.MustCompile(`["'](%(\[\d\])?[sv]|\{\})["']`)
	sqlWord    = regexp.MustCompile(`\b(SELECT|FROM|INTO|TABLE|VIEW|COLUMN|MACRO|ATTACH|COPY|SET|WHERE|format)\b`)
)

func stringOf(n ast.Node) (string, bool) {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

func TestHandWrittenQuotesAreFound(t *testing.T) {
	head := "package query\n\n"
	testRule(t, checkQuoting, []ruleCase{
		{"a name in a format", map[string]string{"internal/query/a.go": head + "var a = `SELECT * FROM \"%s\"`"}, []string{"internal/query/a.go:3:"}},
		{"a text in a format", map[string]string{"internal/load/a.go": head + `var a = "COPY t TO '%s'"`}, []string{"internal/load/a.go:3:"}},
		{"a name that SQL quotes", map[string]string{"internal/query/a.go": head + "var a = `SELECT format('\"{}\"', name)`"}, []string{"internal/query/a.go:3:"}},
		{"a text in pieces", map[string]string{"internal/query/a.go": head + `var a = "ATTACH '" + b + "'"`}, []string{"internal/query/a.go:3:"}},
		{"the function itself", map[string]string{quotingFile: head + `var a = "COPY t TO '%s'"`}, nil},
		{"a message", map[string]string{"internal/query/a.go": head + "var a = `read \"%s\"`"}, nil},
		{"a package without SQL", map[string]string{"internal/sim/a.go": head + "var a = `SELECT * FROM \"%s\"`"}, nil},
		{"a quoted value", map[string]string{"internal/query/a.go": head + `var a = "SELECT * FROM " + sqltext.Quote(b) + " WHERE x = 'y'"`}, nil},
	})
}
