package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"placementsync/internal/command"
	"placementsync/internal/config"
	"placementsync/internal/query"
)

// loadQueries returns the built-in queries and the queries in queries.dir. Faulty files in
// queries.dir are reported on stderr and left out.
func (g *globals) loadQueries() (query.Library, error) {
	cfg, err := g.loadConfig()
	var invalid *config.Error
	switch {
	case g.Config == command.DefaultConfig && errors.Is(err, os.ErrNotExist):
		cfg, err = config.Config{}, nil // the built-in queries need no configuration
	case errors.As(err, &invalid) && !errors.Is(err, os.ErrNotExist):
		err = invalid.Within("queries")
	}
	if err != nil {
		return query.Library{}, err
	}
	all, err := query.Load(cfg.Queries.Dir)
	if faulty := (*query.FilesError)(nil); errors.As(err, &faulty) {
		for _, problem := range faulty.Problems {
			fmt.Fprintln(g.stderr, "placementsync: user-defined query not loaded:", query.EscapeLines(problem))
		}
		err = nil
	}
	return all, err
}

// resolveQuery returns the named query if text is a name. Otherwise it parses text as SQL.
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

// namedQuery returns the query that the first argument names. flag requires this name.
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
	return g.writeEscaped(func(w io.Writer) error {
		_, err := io.WriteString(w, strings.TrimRight(q.SQL, "\n")+"\n")
		return err
	})
}

// listQueries lists the queries that contain all words. If the only word is the name of a query,
// it lists only that query. The format "table" then also shows the description and the parameters.
func (g *globals) listQueries(format string, words []string) error {
	all, err := g.loadQueries()
	if err != nil {
		return err
	}
	matches := query.FilterByWords(all.List(), words)
	if len(words) == 1 {
		q, isName := all.Find(words[0])
		switch {
		case isName && query.Format(format) == query.Table:
			return g.writeEscaped(func(w io.Writer) error { return query.Explain(w, q) })
		case isName:
			matches = []query.Query{q}
		case len(matches) == 0 && query.IsName(words[0]):
			// The error suggests similar names.
			if _, err := g.namedQuery("--list", words); err != nil {
				return err
			}
		}
	}
	if len(matches) == 0 {
		return command.UsageErr("no query has all of the words %q in its name, title, description or subject: use fewer", strings.Join(words, " "))
	}
	return g.writeEscaped(func(w io.Writer) error { return query.WriteList(w, query.Format(format), matches) })
}
