package sqlmutants

import (
	"regexp"
	"strings"
)

// kind is the kind of a token.
type kind int

const (
	word           kind = iota // a keyword or a name
	operator                   // <, ||, (, comma
	value                      // a literal, a quoted name, a parameter such as $since or {columns}
	statementStart             // a comment "-- name: x", which begins a statement
)

// token is a part of an SQL file. Its depth is the number of parentheses, brackets, braces and CASE
// expressions around it. An opening token such as ( and its closing token have the same depth.
type token struct {
	kind     kind
	from, to int // offsets in the file
	depth    int
	text     string // in lower case
}

// lexeme matches a comment, a value, a word or an operator, each in its own group.
var lexeme = regexp.MustCompile(`(?s)^(?:` + strings.Join([]string{
	`(--[^\n]*)`,
	`('(?:[^']|'')*'|"(?:[^"]|"")*"|\$\w+|\{[a-z_]+\}|[0-9][0-9.e]*)`,
	`(\w+)`,
	`(<=|>=|<>|!=|<<|>>|->>|->|=>|:=|==|\|\||::|.)`,
}, "|") + `)`)

// tokens returns the tokens of a file. Of the comments, it returns only those that begin a statement.
func tokens(sql string) (all []token) {
	depth, cases := 0, []int{} // cases contains the depths of the open CASE expressions
	for at := 0; at < len(sql); {
		if strings.ContainsRune(" \t\r\n", rune(sql[at])) {
			at++
			continue
		}
		match := lexeme.FindStringSubmatchIndex(sql[at:])
		t := token{from: at, to: at + match[1], depth: depth, text: strings.ToLower(sql[at : at+match[1]])}
		at = t.to
		switch {
		case match[2] >= 0:
			if !strings.HasPrefix(t.text, "-- name: ") {
				continue
			}
			t.kind, t.depth = statementStart, 0
			depth, cases = 0, nil
		case match[4] >= 0:
			t.kind = value
		case match[6] >= 0:
			t.kind = word
		default:
			t.kind = operator
		}
		switch {
		case t.kind == operator && strings.Contains("([{", t.text), t.kind == word && t.text == "case":
			if t.text == "case" {
				cases = append(cases, depth)
			}
			depth++
		case t.kind == operator && strings.Contains(")]}", t.text):
			depth = max(depth-1, 0)
			t.depth = depth
		case t.kind == word && t.text == "end" && len(cases) > 0:
			depth = cases[len(cases)-1]
			t.depth, cases = depth, cases[:len(cases)-1]
		}
		all = append(all, t)
	}
	return all
}
