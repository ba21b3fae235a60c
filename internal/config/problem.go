package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing wrong with a configuration.
type Problem struct {
	// Line is 1-based; 0 where no line can be named.
	Line int
	// Path is the YAML path, such as api.page_size or privacy.drop[0]; empty when
	// the file as a whole is meant.
	Path string
	// Message holds the value (never a secret), the rule and the fix.
	Message string
}

// Error is everything wrong with one configuration, sorted by line and path.
type Error struct {
	// File is the name given to [Load] or [Parse]; empty from [Config.Validate].
	File     string
	Problems []Problem

	cause error // why the file could not be read, for errors.Is
}

// Error returns one line a problem: file:line: path: message.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = e.formatProblem(p)
	}
	return strings.Join(lines, "\n")
}

func (e *Error) formatProblem(p Problem) string {
	place := e.File
	if p.Line > 0 {
		place += fmt.Sprintf(":%d", p.Line)
	}
	parts := slices.DeleteFunc([]string{place, p.Path, p.Message}, func(s string) bool { return s == "" })
	return strings.Join(parts, ": ")
}

// Unwrap returns the reason why the file could not be read, if that is the problem.
func (e *Error) Unwrap() error { return e.cause }

// Within returns what is left of e for a caller that uses the named sections
// alone, or nil if that is nothing: an analyst's query needs the warehouse, not the
// token. A problem that belongs to no section (syntax, an unknown key) is left too.
func (e *Error) Within(sections ...string) error {
	others := slices.DeleteFunc(keysOf(""), func(key string) bool { return slices.Contains(sections, key) })
	left := slices.DeleteFunc(slices.Clone(e.Problems), func(p Problem) bool {
		section, _, _ := strings.Cut(p.Path, ".")
		return slices.Contains(others, section)
	})
	if len(left) == 0 {
		return nil
	}
	return &Error{File: e.File, Problems: left, cause: e.cause}
}

// newError returns nil, not a typed nil, when there is nothing to report.
func newError(file string, problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Path, b.Path))
	})
	return &Error{File: file, Problems: problems}
}
