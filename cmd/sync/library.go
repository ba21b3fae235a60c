package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"placementsync/internal/command"
	"placementsync/internal/config"
	"placementsync/internal/query"
)

// loadQueries returns the built-in queries and those of queries.dir. Files of the folder
// that cannot be asked are named on stderr, and hide no others.
func (g *globals) loadQueries() (query.Library, error) {
	cfg, err := g.loadConfig()
	var bad *config.Error
	switch {
	case g.Config == command.DefaultConfig && errors.Is(err, os.ErrNotExist):
		cfg, err = config.Config{}, nil // The built-in queries need no configuration.
	case errors.As(err, &bad) && !errors.Is(err, os.ErrNotExist):
		err = bad.Within("queries")
	}
	if err != nil {
		return query.Library{}, err
	}
	all, err := query.Load(cfg.Queries.Dir)
	if faulty := (*query.FilesError)(nil); errors.As(err, &faulty) {
		for _, problem := range faulty.Problems {
			fmt.Fprintln(g.stderr, "placementsync: own query left out:", query.OnScreen(problem))
		}
		err = nil
	}
	return all, err
}

// resolveQuery reads the query of a user: the name of one, or SQL.
func (g *globals) resolveQuery(text string) (query.Query, error) {
	if !query.IsName(text) {
		return query.Resolve(text)
	}
	all, err := g.loadQueries()
	if err != nil {
		return query.Query{}, err
	}
	return all.Resolve(text)
}

// namedQuery is the query that the only argument names.
func (g *globals) namedQuery(flag string, args []string) (query.Query, error) {
	if len(args) == 0 || !query.IsName(args[0]) {
		return query.Query{}, command.UsageErr("%s needs the name of a query: see --list", flag)
	}
	return g.resolveQuery(args[0])
}

func (g *globals) printSQL(args []string) error {
	q, err := g.namedQuery("--sql", args)
	if err != nil {
		return err
	}
	return g.writeHarmless(func(w io.Writer) error {
		_, err := io.WriteString(w, strings.TrimRight(q.SQL, "\n")+"\n")
		return err
	})
}

// listQueries lists all queries, or the one that is named.
func (g *globals) listQueries(format string, args []string) error {
	var all []query.Query
	if len(args) > 0 {
		q, err := g.namedQuery("--list", args)
		if err != nil {
			return err
		}
		all = []query.Query{q}
	} else {
		found, err := g.loadQueries()
		if err != nil {
			return err
		}
		all = found.List()
	}
	slices.SortStableFunc(all, func(a, b query.Query) int { return strings.Compare(subjectOf(a), subjectOf(b)) })
	write := map[string]func(io.Writer, []query.Query) error{"table": listBySubject, "csv": listAsCSV, "json": listAsJSON}[format]
	switch {
	case write == nil:
		return command.UsageErr("--format is %q: --list writes table, csv or json", format)
	case format == "table" && len(args) > 0:
		write = explainQueries
	}
	return g.writeHarmless(func(w io.Writer) error { return write(w, all) })
}

// subjectOf is the heading below which a query is listed.
func subjectOf(q query.Query) string {
	if q.Subject == "" {
		return "own"
	}
	return q.Subject
}

// listBySubject writes one line a query.
func listBySubject(w io.Writer, all []query.Query) error {
	var b strings.Builder
	width, subject := 0, ""
	for _, q := range all {
		width = max(width, len(q.Name))
	}
	for _, q := range all {
		if subjectOf(q) != subject {
			subject = subjectOf(q)
			b.WriteString(subject + "\n")
		}
		fmt.Fprintf(&b, "  %-*s  %s%s\n", width, q.Name, q.Title, ownMark(q))
	}
	b.WriteString("\nquery --list NAME explains one with its parameters, query --sql NAME prints its SQL\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func ownMark(q query.Query) string {
	if q.File == "" {
		return ""
	}
	return " (own: " + q.File + ")"
}

// explainQueries writes all that the headers say.
func explainQueries(w io.Writer, all []query.Query) error {
	var b strings.Builder
	for _, q := range all {
		fmt.Fprintf(&b, "%s%s\n", q.Name, ownMark(q))
		grain := ""
		if q.Grain != "" {
			grain = "one row per " + strings.TrimPrefix(q.Grain, "one row per ")
		}
		for _, line := range []string{q.Title, grain, q.About} {
			if line != "" {
				writeWrapped(&b, "  ", line)
			}
		}
		for _, p := range q.Params {
			fmt.Fprintf(&b, "  --param %s\n", p)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeWrapped writes a text of prose in lines that fit a terminal of 80 columns.
func writeWrapped(b *strings.Builder, indent, prose string) {
	const most = 80
	line := indent
	for _, word := range strings.Fields(prose) {
		if len(line) > len(indent) && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > most {
			b.WriteString(line + "\n")
			line = indent
		}
		if len(line) > len(indent) {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
}

// listedQuery is a query as JSON has it.
type listedQuery struct {
	Subject string        `json:"subject"`
	Name    string        `json:"name"`
	Title   string        `json:"title"`
	Grain   string        `json:"grain"`
	About   string        `json:"about"`
	Params  []listedParam `json:"params"`
	// File is that of an own query; empty for a built-in one.
	File string `json:"file"`
}

// listedParam is a parameter as JSON has it.
type listedParam struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Nullable bool   `json:"nullable"`
	// Default is null for a parameter that must be given.
	Default *string `json:"default"`
	About   string  `json:"about"`
	// Values is the SELECT of the values that the data has; empty: any value goes.
	Values string `json:"values"`
}

func listAsJSON(w io.Writer, all []query.Query) error {
	listed := make([]listedQuery, len(all))
	for i, q := range all {
		listed[i] = listedQuery{subjectOf(q), q.Name, q.Title, q.Grain, q.About, []listedParam{}, q.File}
		for _, p := range q.Params {
			one := listedParam{Name: p.Name, Type: p.Type, Nullable: p.TakesNull(), About: p.About, Values: p.Values}
			if p.Default != "" {
				one.Default = &p.Default
			}
			listed[i].Params = append(listed[i].Params, one)
		}
	}
	return writeJSON(w, listed)
}

func listAsCSV(w io.Writer, all []query.Query) error {
	records := [][]string{{"subject", "name", "title", "grain", "about", "params", "file"}}
	for _, q := range all {
		var params []string
		for _, p := range q.Params {
			params = append(params, p.Name)
		}
		records = append(records, []string{subjectOf(q), q.Name, q.Title, q.Grain, q.About, strings.Join(params, " "), q.File})
	}
	out := csv.NewWriter(w)
	out.UseCRLF = true
	return out.WriteAll(records)
}
