package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Problem is one mistake in a configuration.
type Problem struct {
	Line    int    // starts at 1; 0 means unknown
	Path    string // such as api.page_size or privacy.drop[0]; empty means the whole file
	Message string // the value (never a secret), the rule and the fix
}

// Error has all problems of one configuration, sorted by line and path.
type Error struct {
	File     string // the name passed to [Load] or [Parse]; empty after [Config.Validate]
	Problems []Problem

	cause error // error of reading the file, for errors.Is
}

// Error returns one line for each problem: file:line: path: message.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		place := e.File
		if p.Line > 0 {
			place += fmt.Sprintf(":%d", p.Line)
		}
		parts := slices.DeleteFunc([]string{place, p.Path, p.Message}, func(s string) bool { return s == "" })
		lines[i] = strings.Join(parts, ": ")
	}
	return strings.Join(lines, "\n")
}

func (e *Error) Unwrap() error { return e.cause }

// Within returns an error with the problems of the named sections, and with problems outside of
// all sections: a syntax error, or an unknown section. It returns nil if no problem remains. For
// example, a query of an analyst needs the section warehouse, but no token. A name such as api.fields
// means a part of a section.
func (e *Error) Within(sections ...string) error {
	known := keysOf(reflect.TypeFor[Config]())
	remaining := slices.DeleteFunc(slices.Clone(e.Problems), func(p Problem) bool {
		isKnown := slices.ContainsFunc(known, func(name string) bool { return isBelow(p.Path, name) })
		isNamed := slices.ContainsFunc(sections, func(name string) bool { return isBelow(p.Path, name) })
		return isKnown && !isNamed
	})
	if len(remaining) == 0 {
		return nil
	}
	return &Error{File: e.File, Problems: remaining, cause: e.cause}
}

// isBelow reports whether a path is the path of a section or of a setting in it.
func isBelow(path, section string) bool {
	rest, found := strings.CutPrefix(path, section)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func newError(file string, problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Path, b.Path))
	})
	return &Error{File: file, Problems: problems}
}
