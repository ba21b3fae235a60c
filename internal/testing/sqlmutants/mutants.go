// Package sqlmutants changes SQL files in one place at a time. A file with such a change is called
// a mutant. The package stores the mutants that no test notices. If all tests pass with a mutant, a
// test is missing, or the changed statement has the same results as the original.
//
// Only tests import the package. It must not depend on the measured packages.
package sqlmutants

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Mutant is an SQL file with one change: Text replaces the bytes between From and To.
type Mutant struct {
	From, To int
	Text     string
}

// Find returns the mutants of a file, sorted by position. Mutants replace comparisons,
// aggregates and joins, exchange AND and OR, drop predicates, and reverse sort orders.
func Find(sql string) []Mutant {
	f := &finder{sql: sql, tokens: tokens(sql)}
	joining := map[int]bool{} // by depth: the token is after JOIN and before the condition of the join
	between := map[int]bool{} // by depth: the token is after BETWEEN and before its AND
	assigning := false        // the token is in the assignments of UPDATE
	for i, t := range f.tokens {
		if t.kind == statementStart || t.text == ";" {
			joining, between, assigning = map[int]bool{}, map[int]bool{}, false
		}
		switch t.text {
		case "between":
			between[t.depth] = true
		case "and":
			if !between[t.depth] {
				f.replace(t, "OR")
			}
			between[t.depth] = false
		case "or":
			if f.text(i+1) != "replace" {
				f.replace(t, "AND")
			}
		case "=":
			if !assigning || t.depth > 0 {
				f.replace(t, "<>")
			}
		case "set":
			assigning = true
		case "from":
			assigning = false
		case "join":
			joining[t.depth] = true
			f.changeJoin(i)
		case "using":
			joining[t.depth] = false
		case "where", "having", "qualify":
			assigning = false
			f.dropPredicates(i + 1)
		case "filter":
			if f.text(i+1) == "(" && f.text(i+2) != "where" {
				f.dropPredicates(i + 2)
			}
		case "on":
			if joining[t.depth] {
				f.dropPredicates(i + 1)
			}
			joining[t.depth] = false
		case "order":
			if f.text(i+1) == "by" {
				f.reverseOrder(i + 2)
			}
		default:
			f.swap(i)
		}
	}
	slices.SortStableFunc(f.mutants, func(a, b Mutant) int { return cmp.Compare(a.From, b.From) })
	return f.mutants
}

type finder struct {
	sql     string
	tokens  []token
	mutants []Mutant
}

// text returns the text of token i, or "" if i is out of range.
func (f *finder) text(i int) string {
	if i < 0 || i >= len(f.tokens) {
		return ""
	}
	return f.tokens[i].text
}

func (f *finder) replace(t token, text string) {
	f.mutants = append(f.mutants, Mutant{t.from, t.to, text})
}

// swap replaces a comparison such as < by <=, or a function such as min by its opposite.
func (f *finder) swap(i int) {
	t := f.tokens[i]
	switch t.text {
	case "<", ">":
		f.replace(t, t.text+"=")
	case "<=", ">=":
		f.replace(t, t.text[:1])
	case "<>", "!=":
		f.replace(t, "=")
	}
	if t.kind != word || f.text(i+1) != "(" {
		return
	}
	for _, pair := range [][2]string{{"min", "max"}, {"arg_min", "arg_max"}, {"min_by", "max_by"}, {"least", "greatest"}, {"first", "last"},
		{"first_value", "last_value"}, {"lead", "lag"}, {"bool_and", "bool_or"}} {
		switch t.text {
		case pair[0]:
			f.replace(t, pair[1])
		case pair[1]:
			f.replace(t, pair[0])
		}
	}
}

// changeJoin changes the kind of a join: JOIN and LEFT JOIN are exchanged, as are SEMI JOIN and ANTI
// JOIN, and FULL JOIN becomes LEFT JOIN. RIGHT, CROSS, POSITIONAL, NATURAL and INNER joins have no
// mutants.
func (f *finder) changeJoin(i int) {
	begin := i
	if f.text(begin-1) == "outer" {
		begin--
	}
	kind := f.text(begin - 1)
	switch kind {
	case "left", "full", "semi", "anti":
		begin--
	case "right", "cross", "positional", "natural", "inner":
		return
	}
	replacement := map[string]string{"left": "JOIN", "full": "LEFT JOIN", "semi": "ANTI JOIN", "anti": "SEMI JOIN"}[kind]
	if replacement == "" {
		replacement = "LEFT JOIN"
	}
	f.mutants = append(f.mutants, Mutant{f.tokens[begin].from, f.tokens[i].to, replacement})
}

var clauseEnd = regexp.MustCompile(`^(group|order|having|qualify|limit|union|except|intersect|window|where|join|left|right|inner|full|` +
	`cross|anti|semi|asof|positional|returning|offset|,|;)$`)

// end returns the index of the first token after a clause, or after an item of ORDER BY. The clause
// or item begins with token i.
func (f *finder) end(i int) int {
	depth := f.tokens[i].depth
	for ; i < len(f.tokens); i++ {
		t, next := f.tokens[i], f.text(i+1)
		beginsFrame := (t.text == "rows" || t.text == "range") && (next == "between" || next == "unbounded")
		ends := t.depth == depth && (beginsFrame || next != "(" && clauseEnd.MatchString(t.text))
		if t.kind == statementStart || t.depth < depth || ends {
			return i
		}
	}
	return i
}

var parameter = regexp.MustCompile(`\$\w+|\{[a-z_]+\}`)

// dropPredicates changes the condition that begins with token i. It splits the condition at AND into
// predicates, and replaces each predicate by true. A condition with OR outside of parentheses is
// replaced as a whole. DuckDB requires that a statement uses each of its parameters, so a predicate p
// with a parameter becomes p OR true.
func (f *finder) dropPredicates(i int) {
	if i >= len(f.tokens) {
		return
	}
	end, depth := f.end(i), f.tokens[i].depth
	between := false
	var predicates [][2]int // indexes of the first token and of the token after the last
	begin, hasOr := i, false
	for j := i; j < end; j++ {
		switch t := f.tokens[j]; {
		case t.depth > depth:
		case t.text == "between":
			between = true
		case t.text == "or":
			hasOr = true
		case t.text == "and":
			if !between {
				predicates = append(predicates, [2]int{begin, j})
				begin = j + 1
			}
			between = false
		}
	}
	predicates = append(predicates, [2]int{begin, end})
	if hasOr {
		predicates = [][2]int{{i, end}}
	}
	for _, p := range predicates {
		if p[0] >= p[1] {
			continue
		}
		from, to := f.tokens[p[0]].from, f.tokens[p[1]-1].to
		text := "true"
		if predicate := f.sql[from:to]; parameter.MatchString(predicate) {
			text = "(" + predicate + " OR true)"
		}
		f.mutants = append(f.mutants, Mutant{from, to, text})
	}
}

// reverseOrder reverses the direction of each item of ORDER BY, in one mutant per item.
func (f *finder) reverseOrder(i int) {
	for i < len(f.tokens) {
		end := f.end(i)
		last := end - 1
		if text := f.text(last); text == "first" || text == "last" {
			last -= 2 // NULLS FIRST
		}
		switch t := f.tokens[last]; t.text {
		case "desc":
			f.replace(t, "ASC")
		case "asc":
			f.replace(t, "DESC")
		default:
			f.replace(t, f.sql[t.from:t.to]+" DESC")
		}
		if f.text(end) != "," {
			return
		}
		i = end + 1
	}
}

// Lines returns the changed lines, before and after the change, as one line each.
func (m Mutant) Lines(sql string) (before, after string) {
	begin := strings.LastIndexByte(sql[:m.From], '\n') + 1
	end := len(sql)
	if n := strings.IndexByte(sql[m.To:], '\n'); n >= 0 {
		end = m.To + n
	}
	return oneLine(sql[begin:end]), oneLine(sql[begin:m.From] + m.Text + sql[m.To:end])
}

// Apply returns the mutated file.
func (m Mutant) Apply(sql string) string { return sql[:m.From] + m.Text + sql[m.To:] }
