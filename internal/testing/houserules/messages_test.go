package houserules_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// TestMessages prints every text in the code with at least three words, such as errors, log
// messages and help. It never fails. Run it with make messages.
func TestMessages(t *testing.T) {
	if !testing.Verbose() {
		t.Skip("make messages prints them")
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
				words, isText := textOf(n)
				if isText && len(strings.Fields(words)) >= 3 {
					fmt.Fprintf(t.Output(), "%s:%d: %s\n", s.path, s.line(n.Pos()), words)
				}
				return !isText
			}
			return true
		})
	}
}

// textOf returns the text of a literal, or of literals and other operands joined by +. Other
// operands become an ellipsis.
func textOf(e ast.Expr) (words string, isText bool) {
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
		left, isLeft := textOf(n.X)
		right, isRight := textOf(n.Y)
		if !isLeft {
			left = "…"
		}
		if !isRight {
			right = "…"
		}
		return left + right, isLeft || isRight
	}
	return "", false
}
