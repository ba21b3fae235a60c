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

// checkQuoting finds SQL that puts quotes around a value without escaping it, as in "'%s'". Only
// quotingFile may write such SQL.
func checkQuoting(t tree) []finding {
	var findings []finding
	for s := range t.code() {
		if !slices.Contains(sqlPackages(), s.dir()) || s.path == quotingFile {
			continue
		}
		for n := range ast.Preorder(s.file) {
			text, ok := literalValue(n)
			if ok && quotedVerb.MatchString(text) && sqlWord.MatchString(text) || quotesOperand(n) {
				findings = append(findings, s.finding(n.Pos(), "use sqltext.Quote or sqltext.Literal", "hand-written quotes around a value in SQL"))
			}
		}
	}
	return findings
}

// quotesOperand reports whether a sum of strings is SQL in which an opening quote precedes an
// operand that is not a literal.
func quotesOperand(n ast.Node) bool {
	sum, ok := n.(*ast.BinaryExpr)
	if !ok || sum.Op != token.ADD {
		return false
	}
	left, isLiteral := literalValue(sum.X)
	if inner, ok := sum.X.(*ast.BinaryExpr); ok {
		left, isLiteral = literalValue(inner.Y)
	}
	_, rightIsLiteral := literalValue(sum.Y)
	return isLiteral && !rightIsLiteral && (strings.HasSuffix(left, "'") || strings.HasSuffix(left, `"`)) && sqlWord.MatchString(left)
}

const quotingFile = "internal/sqltext/sqltext.go"

// sqlPackages returns the packages that write SQL. It leaves out internal/dialect, which quotes only
// constants.
func sqlPackages() []string {
	return []string{"internal/sqltext", "internal/dictionary", "internal/warehouse", "internal/integrity", "internal/load", "internal/lake", "internal/query", "internal/checks", "internal/pipeline", "internal/report", "internal/explore", "cmd/sync", "cmd/lake"}
}

var (
	quotedVerb = regexp.MustCompile(`["'](%(\[\d\])?[sv]|\{\})["']`)
	sqlWord    = regexp.MustCompile(`\b(SELECT|FROM|INTO|TABLE|VIEW|COLUMN|MACRO|ATTACH|COPY|SET|WHERE|format)\b`)
)

func literalValue(n ast.Node) (string, bool) {
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
		{"a name in a Go format string", map[string]string{"internal/query/a.go": head + "var a = `SELECT * FROM \"%s\"`"}, []string{"internal/query/a.go:3:"}},
		{"a string in a Go format string", map[string]string{"internal/load/a.go": head + `var a = "COPY t TO '%s'"`}, []string{"internal/load/a.go:3:"}},
		{"a name in a call of the SQL function format", map[string]string{"internal/query/a.go": head + "var a = `SELECT format('\"{}\"', name)`"}, []string{"internal/query/a.go:3:"}},
		{"a string in a concatenation", map[string]string{"internal/query/a.go": head + `var a = "ATTACH '" + b + "'"`}, []string{"internal/query/a.go:3:"}},
		{"the file with the quoting functions", map[string]string{quotingFile: head + `var a = "COPY t TO '%s'"`}, nil},
		{"a message", map[string]string{"internal/query/a.go": head + "var a = `read \"%s\"`"}, nil},
		{"a package without SQL", map[string]string{"internal/sim/a.go": head + "var a = `SELECT * FROM \"%s\"`"}, nil},
		{"a value quoted by sqltext", map[string]string{"internal/query/a.go": head + `var a = "SELECT * FROM " + sqltext.Quote(b) + " WHERE x = 'y'"`}, nil},
	})
}
