package houserules_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// TestMessages prints every string with at least three words, such as errors, log messages and help.
// It leaves out tests, packages for tests and the demo service. It never fails. Run it with
// make messages.
func TestMessages(t *testing.T) {
	if !testing.Verbose() {
		t.Skip("prints messages only with -v: run make messages")
	}
	for s := range projectTree(t).code() {
		if strings.HasPrefix(s.path, "internal/sim/") || strings.HasPrefix(s.path, "internal/testing/") {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.ImportSpec, *ast.Field:
				return false
			case ast.Expr:
				words, isString := stringValue(n)
				if isString && len(strings.Fields(words)) >= 3 {
					fmt.Fprintf(t.Output(), "%s:%d: %s\n", s.path, s.line(n.Pos()), words)
				}
				return !isString
			}
			return true
		})
	}
}

// stringValue returns the value of a string literal, or of a sum of literals and other operands. An
// operand that is not a literal becomes an ellipsis.
func stringValue(e ast.Expr) (words string, isString bool) {
	switch n := e.(type) {
	case *ast.BasicLit:
		if n.Kind == token.STRING {
			words, _ = strconv.Unquote(n.Value)
			return words, true
		}
	case *ast.BinaryExpr:
		if n.Op != token.ADD {
			break
		}
		left, isLeftString := stringValue(n.X)
		right, isRightString := stringValue(n.Y)
		if !isLeftString {
			left = "…"
		}
		if !isRightString {
			right = "…"
		}
		return left + right, isLeftString || isRightString
	}
	return "", false
}
