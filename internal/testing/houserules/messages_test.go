package houserules_test

import (
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

// TestMessages prints every string with at least three words, such as errors, log messages and help. It leaves out
// tests, packages for tests and the demo service. It never fails. Run it with make messages.
func TestMessages(t *testing.T) {
	if !testing.Verbose() {
		t.Skip("prints messages only with -v: run make messages")
	}
	for _, s := range readTree(t).sources {
		if s.isTest() || isWithin(s.path, "internal/sim") || isWithin(s.path, "internal/testing") {
			continue
		}
		for node := range ast.Preorder(s.file) {
			words, isString := literalValue(node)
			if isString && len(strings.Fields(words)) >= 3 {
				fmt.Fprintf(t.Output(), "%s:%d: %s\n", s.path, s.line(node.Pos()), words)
			}
		}
	}
}
