package config

import (
	"regexp"
	"strconv"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

func lineOf(node ast.Node) int {
	if node == nil {
		return 0
	}
	return lineOfToken(node.GetToken())
}

func lineOfToken(t *token.Token) int {
	if t == nil || t.Position == nil {
		return 0
	}
	return t.Position.Line
}

// scalarText returns the source text of a scalar, because an id such as 0123 must keep its
// zeros. isNumberOrBool reports how YAML reads the scalar. ok is false if node is not a scalar.
func scalarText(node ast.Node) (text string, isNumberOrBool, ok bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, false, true
	case *ast.LiteralNode:
		return n.Value.Value, false, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true, true
	}
	return "", false, false
}

var unquotedKey = regexp.MustCompile(`^[A-Za-z0-9_.<-]+$`)

// Control characters of a key must not reach a terminal.
func keyText(key ast.MapKeyNode) string {
	text := ""
	if name, ok := key.(*ast.StringNode); ok {
		text = name.Value
	} else if t := key.GetToken(); t != nil {
		text = t.Value
	}
	if unquotedKey.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}

// shapeName describes a node for messages, without its value, which may be the API
// token below a wrong key.
func shapeName(node ast.Node) string {
	switch node.(type) {
	case nil, *ast.NullNode:
		return "empty"
	case ast.MapNode:
		return "a section"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return "text"
	case *ast.IntegerNode, *ast.FloatNode:
		return "a number"
	case *ast.InfinityNode, *ast.NanNode:
		return "infinite or undefined"
	case *ast.BoolNode:
		return "true or false"
	case *ast.AnchorNode, *ast.AliasNode:
		return "a YAML anchor or alias (not supported)"
	case *ast.TagNode:
		return "a tagged YAML value (not supported)"
	}
	return "something else"
}
