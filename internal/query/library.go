package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	duckdb "github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/nearest"
	"placementsync/queries"
	"placementsync/schema"
)

// Library contains named queries or checks: the built-in ones, and the user's own ones from a folder.
type Library struct {
	queries []Query
}

// FilesError reports all mistakes in the user's query files.
type FilesError struct {
	// Problems are lines of the form file:line: problem.
	Problems []string
}

func (e *FilesError) Error() string { return strings.Join(e.Problems, "\n") }

const (
	queryExtension = ".sql"
	// maxFileSize, in bytes, prevents a huge file, chosen by mistake, from filling the memory.
	maxFileSize = 1 << 20
)

// Load returns the built-in queries and the user's own queries in the folder dir. An empty dir means no
// own queries. If Load returns a *FilesError, the library still contains the queries without mistakes.
func Load(dir string) (Library, error) { return namedQueries().load(dir) }

// List returns the listed built-in queries, sorted by name.
func List() []Query { return namedQueries().builtIn().List() }

// All returns all built-in queries, sorted by name.
func All() []Query { return namedQueries().builtIn().queries }

// queryKind describes named queries or checks.
type queryKind struct {
	files   fs.FS // the built-in files
	folder  string
	key     string // configuration key of the user's folder
	isCheck bool
}

func namedQueries() queryKind {
	return queryKind{files: queries.FS, folder: "queries", key: "queries.dir"}
}

func (k queryKind) builtIn() Library {
	var l Library
	files, _ := fs.Glob(k.files, "*"+queryExtension) // embedded files can always be read
	for _, file := range files {
		text, _ := fs.ReadFile(k.files, file)
		q, faults := parseFile(Query{Name: strings.TrimSuffix(file, queryExtension), isCheck: k.isCheck}, string(text))
		if len(faults) > 0 {
			panic(strings.Join(formatFaults(k.folder+"/"+file, faults), "\n"))
		}
		l.queries = append(l.queries, q)
	}
	return l
}

func (k queryKind) load(dir string) (Library, error) {
	l := k.builtIn()
	if dir == "" {
		return l, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return l, &FilesError{[]string{fmt.Sprintf("%s: cannot be read: %v: create the folder or correct %s", dir, errors.Unwrap(err), k.key)}}
	}
	var problems []string
	for _, entry := range entries {
		if !strings.EqualFold(filepath.Ext(entry.Name()), queryExtension) || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		file := filepath.Join(dir, entry.Name())
		q, faults := l.readUserFile(k, file)
		if len(faults) > 0 {
			problems = append(problems, formatFaults(file, faults)...)
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

var simpleName = regexp.MustCompile(`^\w+$`)

func (l Library) readUserFile(k queryKind, file string) (Query, []fault) {
	base := filepath.Base(file)
	name := base[:len(base)-len(queryExtension)]
	if !simpleName.MatchString(name) {
		return Query{}, []fault{{0, "has an invalid name: use only letters, digits and _"}}
	}
	for _, other := range l.queries {
		if !strings.EqualFold(other.Name, name) {
			continue
		}
		if other.File != "" {
			return Query{}, []fault{{0, "has the name of " + other.File + ": rename one of them"}}
		}
		return Query{}, []fault{{0, "has the name of the built-in " + k.folder + "/" + other.Name + queryExtension + ": rename it"}}
	}
	text, err := ReadText(file)
	if err != nil {
		return Query{}, []fault{{0, err.Error()}}
	}
	q, faults := parseFile(Query{Name: name, File: file, isCheck: k.isCheck}, text)
	q.Subject = cmp.Or(q.Subject, "own")
	return q, faults
}

// ReadText reads an SQL file. It returns an error if the file is larger than maxFileSize, or not a
// regular file: reading a pipe or a device may never end.
func ReadText(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", errors.Unwrap(err))
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("is not a regular file")
	}
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", errors.Unwrap(err))
	}
	defer f.Close()
	// The stated size is not trusted: the file may grow, and the kernel states 0 for its own files.
	text, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", errors.Unwrap(err))
	}
	if len(text) > maxFileSize {
		return "", fmt.Errorf("is larger than %d bytes", maxFileSize)
	}
	return string(text), nil
}

// List returns the queries, sorted by name, without those of the report and those with a replacement.
func (l Library) List() []Query {
	return slices.DeleteFunc(slices.Clone(l.queries), func(q Query) bool {
		isOfReport := q.File == "" && q.Subject == "report"
		return isOfReport || q.Replacement != ""
	})
}

// Find returns the query with the given name.
func (l Library) Find(name string) (Query, bool) {
	for _, q := range l.queries {
		if q.Name == name {
			return q, true
		}
	}
	return Query{}, false
}

// Resolve is [Library.Resolve] with the built-in queries.
func Resolve(text string) (Query, error) { return namedQueries().builtIn().Resolve(text) }

// IsName reports whether a text has the form of a name, optionally with a schema. Any other text is
// SQL.
func IsName(text string) bool { return qualifiedName.MatchString(strings.TrimSpace(text)) }

var qualifiedName = regexp.MustCompile(`^\w+(?:\.\w+)?$`)

// Resolve returns the query for a text of the user, which is the name of a query or SQL. An
// unknown name is a *UsageError. If a table has the name, the error explains how to query the table.
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
	problem, label := fmt.Sprintf("no query is named %q", text), "queries"
	if table, dictionaryName := findTable(text); table != "" {
		problem += fmt.Sprintf(", but a table is: query it with SQL, as in placementsync query \"FROM %s LIMIT 10\"; placementsync schema %s explains its columns", table, dictionaryName)
		label = "" // without a list of all queries
	}
	var names []string
	for _, q := range l.List() {
		names = append(names, q.Name)
	}
	return Query{}, &UsageError{Problem: problem + SuggestNames(names, text, label)}
}

// findTable finds the table or view named word. table is its name in SQL, and dictionaryName is its
// name in the data dictionary. Both are empty if there is no such table or view.
func findTable(word string) (table, dictionaryName string) {
	for _, t := range schema.All() {
		if word == t.Table || word == t.Name() {
			return t.Name(), t.Name()
		}
		versions := []string{"main." + t.Table, "past." + t.Table, "history." + t.Table}
		if t.Schema == "main" && slices.Contains(versions, word) {
			return word, t.Name()
		}
	}
	return "", ""
}

// SuggestNames returns the end of an error about an unknown name: the names that contain the text, or else the names
// that differ from the text in a few letters, or else all names after the label. Without a label, all names are left out.
func SuggestNames(names []string, text, label string) string {
	const minLength = 3 // too many names contain a shorter text
	text = strings.ToLower(text)
	var similar []string
	if len(text) >= minLength {
		similar = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.Contains(name, text) })
	}
	if len(similar) == 0 {
		similar = nearest.FindNear(names, text)
	}
	if len(similar) > 0 {
		return " (did you mean " + strings.Join(similar, " or ") + "?)"
	}
	if label == "" {
		return ""
	}
	return "; " + label + ": " + strings.Join(names, ", ")
}

// ValidateUserFiles validates the user's queries and checks. It returns a *FilesError for queries that
// do not parse, do more than read, or name a table or column that the catalog does not have. Before
// the first night, db is nil; the names of tables and columns are then not validated. In a check that
// reads the database "before", they are validated only if [DB.WhyNotComparable] returns no reason.
func (l Library) ValidateUserFiles(ctx context.Context, db *DB) (err error) {
	hasCatalog := db != nil
	if !hasCatalog {
		if db, err = startInstance(ctx, Options{}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
	}
	tables := allTables()
	var problems []string
	err = db.conn.Raw(func(raw any) error {
		conn := raw.(*duckdb.Conn)
		for _, q := range l.queries {
			if q.File == "" {
				continue
			}
			validateNames := hasCatalog
			if q.isCheck && db.WhyNotComparable(q) != "" {
				validateNames = false
			}
			text := q.SQL
			parts := q.Expand(ChangedTables{Changed: tables, MuchChanged: tables}, nil)
			if len(parts) > 0 { // "each" may name no existing table
				text = parts[0].SQL
			}
			if problem := validateSQL(conn, text, validateNames); problem != "" {
				problems = append(problems, q.File+problem)
			}
			for _, p := range q.Params {
				if p.Values == "" {
					continue
				}
				if problem := validateSQL(conn, p.Values, hasCatalog); problem != "" {
					problems = append(problems, q.File+": the values of parameter "+p.Name+problem)
				}
			}
		}
		return nil
	})
	if len(problems) > 0 {
		return errors.Join(err, &FilesError{problems})
	}
	return err
}

// validateSQL returns the first problem of a query as ":line:column: problem" or, without a known
// position, ": problem". It returns "" for a valid query.
func validateSQL(conn *duckdb.Conn, text string, validateNames bool) string {
	s, err := prepareStatement(conn, text)
	if IsMissing(err) && !validateNames {
		return ""
	}
	if err != nil {
		problem, _, _ := strings.Cut(err.Error(), "\n")
		problem = ": " + strings.TrimPrefix(problem, "Parser Error: ")
		if line, column := findPosition(text, err.Error()); line > 0 {
			return fmt.Sprintf(":%d:%d%s", line, column, problem)
		}
		return problem
	}
	if s.several {
		if isPivot(conn, text) {
			return ""
		}
		return ": " + refusedSeveral
	}
	if s.kind == duckdb.STATEMENT_TYPE_SELECT || s.kind == duckdb.STATEMENT_TYPE_EXPLAIN {
		return ""
	}
	return ": " + refusalOf(s.kind)
}
