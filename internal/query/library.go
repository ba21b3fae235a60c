package query

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"placementsync/internal/dictionary"
	"placementsync/internal/nearest"
	"placementsync/queries"
)

// Library is the named queries that can be asked: the built-in ones and those of a user's
// folder. The zero value has none.
type Library struct {
	queries []Query
}

// FilesError says all that is wrong with files of a user.
type FilesError struct {
	// Problems are one line each: file:line: what is wrong and what to do.
	Problems []string
}

func (e *FilesError) Error() string { return strings.Join(e.Problems, "\n") }

const (
	// ending is that of files with a query.
	ending = ".sql"
	// ownSubject is that of own queries which name none.
	ownSubject = "own"
	// mostBytes is how long a file of a user may be: a wrong name must not fill the memory.
	mostBytes = 1 << 20
)

// Load returns the built-in queries and those of the files in a folder. An empty folder
// name means no own queries. The library is good also with a *FilesError, which names what
// was left out and why.
func Load(dir string) (Library, error) {
	builtIn, err := List()
	return shelf{folder: "queries", key: "queries.dir"}.load(builtIn, err, dir)
}

// shelf is where a kind of queries comes from.
type shelf struct {
	folder  string // of the built-in ones, in this repository
	key     string // of the configuration, for own ones
	isCheck bool
}

func (s shelf) load(builtIn []Query, err error, dir string) (Library, error) {
	l := Library{queries: builtIn}
	if err != nil || dir == "" {
		return l, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return l, &FilesError{[]string{fmt.Sprintf("%s: cannot be read: %v: create the folder, or correct %s", dir, errors.Unwrap(err), s.key)}}
	}
	var problems []string
	for _, entry := range entries {
		if !strings.EqualFold(filepath.Ext(entry.Name()), ending) || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		file := filepath.Join(dir, entry.Name())
		q, faults := l.readOwn(s, file)
		if len(faults) > 0 {
			problems = append(problems, placeFaults(file, faults)...)
			continue
		}
		l.queries = append(l.queries, q)
	}
	slices.SortFunc(l.queries, func(a, b Query) int { return strings.Compare(a.Name, b.Name) })
	if len(problems) > 0 {
		return l, &FilesError{problems}
	}
	return l, nil
}

var nameOnly = regexp.MustCompile(`^\w+$`)

// readOwn reads one file of the folder.
func (l Library) readOwn(s shelf, file string) (Query, []fault) {
	base := filepath.Base(file)
	name := base[:len(base)-len(ending)]
	if !nameOnly.MatchString(name) {
		return Query{}, []fault{{0, "cannot be asked by its name: use letters, digits and _ alone"}}
	}
	i := slices.IndexFunc(l.queries, func(q Query) bool { return strings.EqualFold(q.Name, name) })
	if i >= 0 && l.queries[i].File != "" {
		return Query{}, []fault{{0, "has the name of " + l.queries[i].File + ": rename one of them"}}
	}
	if i >= 0 {
		return Query{}, []fault{{0, "has the name of the built-in " + s.folder + "/" + l.queries[i].Name + ending + ": rename it"}}
	}
	text, err := ReadText(file)
	if err != nil {
		return Query{}, []fault{{0, err.Error()}}
	}
	q, faults := parseFile(Query{Name: name, File: file, isCheck: s.isCheck}, text)
	q.Subject = cmp.Or(q.Subject, ownSubject)
	if q.Title == "" && len(faults) == 0 {
		faults = append(faults, fault{1, "needs a title: begin with -- title: what the answer shows"})
	}
	if s.isCheck && len(faults) == 0 {
		faults = q.checkFaults()
	}
	return q, faults
}

// ReadText reads a file of SQL. It refuses what is no file, which may never end, and what
// is too long to be SQL of a person.
func ReadText(file string) (string, error) {
	info, err := os.Stat(file)
	if err == nil && !info.Mode().IsRegular() {
		return "", errors.New("is not a regular file")
	}
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", errors.Unwrap(err))
	}
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", errors.Unwrap(err))
	}
	text, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("cannot be read: %w", err)
	}
	if len(text) > mostBytes {
		return "", fmt.Errorf("is longer than %d bytes", mostBytes)
	}
	return string(text), nil
}

// List returns the built-in queries, sorted by name.
func List() ([]Query, error) {
	return shelf{folder: "queries"}.list(queries.FS)
}

func (s shelf) list(dir fs.FS) ([]Query, error) {
	files, err := fs.Glob(dir, "*"+ending)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", s.folder, err)
	}
	var all []Query
	for _, file := range files {
		text, err := fs.ReadFile(dir, file)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", s.folder, err)
		}
		q := Query{Name: strings.TrimSuffix(file, ending), SQL: string(text), isCheck: s.isCheck}
		faults := q.parseHeader()
		if s.isCheck && len(faults) == 0 {
			faults = q.checkFaults()
		}
		if len(faults) > 0 {
			return nil, fmt.Errorf("list %s: %s", s.folder, strings.Join(placeFaults(s.folder+"/"+file, faults), "\n"))
		}
		all = append(all, q)
	}
	return all, nil
}

// List returns all queries, sorted by name.
func (l Library) List() []Query { return slices.Clone(l.queries) }

// Find returns the query of a name.
func (l Library) Find(name string) (Query, bool) {
	i := slices.IndexFunc(l.queries, func(q Query) bool { return q.Name == name })
	if i < 0 {
		return Query{}, false
	}
	return l.queries[i], true
}

// Resolve reads the query of a user among the built-in ones, see [Library.Resolve].
func Resolve(text string) (Query, error) {
	l, err := Load("")
	if err != nil {
		return Query{}, err
	}
	return l.Resolve(text)
}

// IsName reports whether a text is a single word, which names a query or a table and is
// no SQL.
func IsName(text string) bool { return wordOnly.MatchString(strings.TrimSpace(text)) }

// wordOnly is a word, or one with its schema.
var wordOnly = regexp.MustCompile(`^\w+(?:\.\w+)?$`)

// Resolve reads the query of a user: a single word names a query, anything else is
// SQL. An unknown name is a *UsageError, which says when a table has it.
func (l Library) Resolve(text string) (Query, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Query{}, &UsageError{Problem: "the query is empty"}
	}
	if !IsName(text) {
		return Text(text), nil
	}
	if q, ok := l.Find(text); ok {
		return q, nil
	}
	unknown := &UsageError{Problem: fmt.Sprintf("no query is named %q", text)}
	for _, q := range l.queries {
		unknown.Names = append(unknown.Names, q.Name)
	}
	unknown.Nearest = nearestNames(unknown.Names, text)
	table, stated, err := findTable(text)
	if err != nil {
		return Query{}, err
	}
	if table != "" {
		unknown.Problem += fmt.Sprintf(", but a table is: ask it in SQL, as in placementsync query \"FROM %s LIMIT 10\"; placementsync schema %s explains its columns", table, stated)
		unknown.Names = nil
	}
	return Query{}, unknown
}

// findTable finds the table or view that a word names, with its schema where SQL needs it,
// and the name by which the dictionary has it. Both are empty when there is none.
func findTable(word string) (table, stated string, err error) {
	main, meta, err := dictionary.Definitions()
	if err != nil {
		return "", "", err
	}
	views, err := dictionary.MartViews()
	if err != nil {
		return "", "", err
	}
	schema, name, ok := strings.Cut(word, ".")
	if !ok {
		schema, name = "", word
	}
	if _, ok := main[name]; ok && slices.Contains([]string{"", "main", "past", "history"}, schema) {
		return word, name, nil
	}
	var others []string
	for _, v := range views {
		others = append(others, "mart."+v.Name)
	}
	for _, d := range meta {
		others = append(others, "meta."+d.Name)
	}
	for _, other := range others {
		if word == other || schema == "" && strings.HasSuffix(other, "."+name) {
			return other, other, nil
		}
	}
	return "", "", nil
}

// nearestNames picks the names that the user may have meant: those that contain the
// text, or else those that differ from it in a few letters.
func nearestNames(names []string, text string) []string {
	const minPart = 3 // the least length of a part of a name that finds it
	text = strings.ToLower(text)
	var holding []string
	for _, name := range names {
		if len(text) >= minPart && strings.Contains(name, text) {
			holding = append(holding, name)
		}
	}
	if len(holding) > 0 {
		return holding
	}
	return nearest.FindAlike(names, text)
}
