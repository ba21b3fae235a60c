package query

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"placementsync/internal/nearest"
	"placementsync/queries"
)

// Query is SQL to run. Named queries state their parameters; the parameters of
// a text are the $names in it, each bound as VARCHAR.
type Query struct {
	// Name is the name of the file under queries, without its ending. Empty
	// for a text of the user.
	Name string
	// Title, Grain and About say what the answer shows, what a row is and what to
	// know about the numbers.
	Title, Grain, About string
	// Params are the parameters that a named query declares.
	Params []Param
	// SQL is the text, header included.
	SQL string

	// long answers are read piece by piece; those of stored tables, whose SQL
	// is SELECT columns FROM table, without being spooled first.
	long, stored bool
	// spooled answers may be of any length: they are read as long ones where
	// their SQL allows it.
	spooled bool
}

func (q Query) ofAnyLength(yes bool) Query {
	q.spooled = yes && !q.long
	return q
}

// Param is one parameter of a named query.
type Param struct {
	Name string
	// Type is VARCHAR, BIGINT, COUNT (a BIGINT that is not negative), BOOLEAN,
	// DATE, TIMESTAMPTZ, TIMEZONE (the name of one), DECIMAL, or the texts to
	// choose from, with bars between them; the last three are bound as text.
	Type string
	// Nullable parameters take NULL, which means any or all; so do those whose
	// default it is. In the header their type ends with a question mark.
	Nullable bool
	// Default is the value when none is given; "NULL" stands for NULL. A DATE
	// may count back from the newest snapshot: "snapshot-7d".
	Default string
	About   string
}

// String is the parameter as a list shows it.
func (p Param) String() string {
	if p.Default == "" {
		return p.Name + " " + p.Type
	}
	kind := p.Type
	if p.Nullable {
		kind += " or NULL"
	}
	return fmt.Sprintf("%s %s (default %s): %s", p.Name, kind, p.Default, p.About)
}

// Text is SQL of the user's own.
func Text(sql string) Query { return Query{SQL: sql} }

var nameOnly = regexp.MustCompile(`^\w+$`)

// Resolve reads the query of a user: a single word names a query, anything else is
// SQL. An unknown name is a *UsageError.
func Resolve(text string) (Query, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Query{}, &UsageError{Problem: "the query is empty"}
	}
	if !nameOnly.MatchString(text) {
		return Text(text), nil
	}
	all, err := List()
	if err != nil {
		return Query{}, err
	}
	return FindNamed(all, text)
}

// FindNamed picks the query of a name. An unknown name is a *UsageError.
func FindNamed(all []Query, text string) (Query, error) {
	i := slices.IndexFunc(all, func(q Query) bool { return q.Name == text })
	if i >= 0 {
		return all[i], nil
	}
	unknown := &UsageError{Problem: fmt.Sprintf("no query is named %q", text)}
	for _, q := range all {
		unknown.Names = append(unknown.Names, q.Name)
	}
	unknown.Nearest = nearestNames(unknown.Names, text)
	return Query{}, unknown
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

// List returns the named queries, sorted by name.
func List() ([]Query, error) {
	files, err := fs.Glob(queries.FS, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list queries: %w", err)
	}
	var all []Query
	for _, file := range files {
		text, err := fs.ReadFile(queries.FS, file)
		if err != nil {
			return nil, fmt.Errorf("list queries: %w", err)
		}
		q, err := parseQuery(strings.TrimSuffix(file, ".sql"), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, q)
	}
	return all, nil
}

var (
	headerLine = regexp.MustCompile(`^-- (title|grain|about|param): (.+)$`)
	paramField = regexp.MustCompile(`^(\w+) (VARCHAR|BIGINT|COUNT|BOOLEAN|DATE|TIMESTAMPTZ|TIMEZONE|DECIMAL|\w+(?:\|\w+)+)(\??) (\S+) -- (.+)$`)
)

// parseQuery reads the header: the comment lines at the top of the file, of
// which those of a known form carry meaning.
func parseQuery(name, text string) (Query, error) {
	q := Query{Name: name, SQL: text}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, "--") {
			break
		}
		m := headerLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		switch m[1] {
		case "title":
			q.Title = m[2]
		case "grain":
			q.Grain = m[2]
		case "about":
			q.About = m[2]
		case "param":
			p := paramField.FindStringSubmatch(m[2])
			if p == nil {
				return Query{}, fmt.Errorf("read query %q: state a parameter as name type default -- meaning, not %q", name, m[2])
			}
			q.Params = append(q.Params, Param{Name: p[1], Type: p[2], Nullable: p[3] != "", Default: p[4], About: p[5]})
		}
	}
	if q.Title == "" || q.Grain == "" || q.About == "" {
		return Query{}, fmt.Errorf("read query %q: its header needs title, grain and about", name)
	}
	return q, nil
}

// wrapErr says which query an error is about.
func (q Query) wrapErr(err error) error {
	if q.Name == "" {
		return fmt.Errorf("run query: %w", err)
	}
	return fmt.Errorf("run query %q: %w", q.Name, err)
}
