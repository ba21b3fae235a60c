package houserules_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	quotedVerb = regexp.MustCompile(`["'](%(\[\d\])?[sv]|\{\})["']`)
	sqlWord    = regexp.MustCompile(`\b(SELECT|FROM|INTO|TABLE|VIEW|COLUMN|MACRO|ATTACH|COPY|SET|WHERE|format)\b`)
)

// checkQuotes finds SQL that puts quotes around a value without escaping it, as in "'%s'". Only package sqltext
// may write such SQL. Package dialect quotes only constants, and the demo service and tests are not checked.
func checkQuotes(t *testing.T, project tree) {
	for _, s := range project.sources {
		isExempt := isWithin(s.path, "internal/sqltext") || isWithin(s.path, "internal/dialect") ||
			isWithin(s.path, "internal/sim") || isWithin(s.path, "internal/testing")
		if s.isTest() || isExempt {
			continue
		}
		for n := range ast.Preorder(s.file) {
			if isQuotedVerb(n) || quotesOperand(n) {
				t.Errorf("%s:%d: hand-written quotes around a value in SQL: use sqltext.Quote or sqltext.Literal", s.path, s.line(n.Pos()))
			}
		}
	}
}

func isQuotedVerb(n ast.Node) bool {
	text, ok := literalValue(n)
	return ok && quotedVerb.MatchString(text) && sqlWord.MatchString(text)
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
	endsWithQuote := strings.HasSuffix(left, "'") || strings.HasSuffix(left, `"`)
	return isLiteral && !rightIsLiteral && endsWithQuote && sqlWord.MatchString(left)
}

func literalValue(n ast.Node) (string, bool) {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
