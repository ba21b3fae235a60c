package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"placementsync/internal/dictionary"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// What is here proposes values to the shell. It must be quick and silent: where something
// is wrong it proposes nothing, and the command itself says what.

// completeFlag sets what proposes the values of a flag.
func completeFlag(cmd *cobra.Command, flag string, propose cobra.CompletionFunc) {
	// It fails only for a flag that is not there; a test completes each.
	if err := cmd.RegisterFlagCompletionFunc(flag, propose); err != nil {
		cmd.PrintErrln(err)
	}
}

// completer proposes what the warehouse and the queries of the configuration have.
type completer struct{ g *globals }

// silent is g with nothing written.
func (g *globals) silent() *globals {
	mute := *g
	mute.stdout, mute.stderr, mute.Quiet = io.Discard, io.Discard, true
	return &mute
}

// proposing keeps those proposals that begin with what was typed.
func proposing(all []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	fitting := slices.DeleteFunc(slices.Clone(all), func(one string) bool { return !strings.HasPrefix(one, typed) })
	return fitting, cobra.ShellCompDirectiveNoFileComp
}

// completeQuery proposes the named queries with their titles.
func (c completer) completeQuery(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []string
	if all, err := c.g.silent().loadQueries(); err == nil && len(args) == 0 {
		for _, q := range all.List() {
			names = append(names, cobra.CompletionWithDesc(q.Name, q.Title))
		}
	}
	return proposing(names, typed)
}

// completeParam proposes the parameters of the chosen query, and behind name= their values.
func (c completer) completeParam(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	q, ok := c.chosenQuery(cmd, args)
	if !ok {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if name, _, ok := strings.Cut(typed, "="); ok {
		var values []string
		for _, value := range c.valuesOf(cmd.Context(), q, name) {
			values = append(values, name+"="+value)
		}
		return proposing(values, typed)
	}
	var names []string
	for _, p := range q.Params {
		names = append(names, cobra.CompletionWithDesc(p.Name+"=", p.About))
	}
	found, directive := proposing(names, typed)
	return found, directive | cobra.ShellCompDirectiveNoSpace
}

// chosenQuery is the query that the command line names so far.
func (c completer) chosenQuery(cmd *cobra.Command, args []string) (q query.Query, ok bool) {
	name := ""
	if flag := cmd.Flags().Lookup("query"); flag != nil {
		name = flag.Value.String()
	} else if len(args) > 0 {
		name = args[0]
	}
	if flag := cmd.Flags().Lookup("file"); name == "" && flag != nil && flag.Value.String() != "" {
		file := flag.Value.String()
		text, err := query.ReadText(file)
		if err != nil {
			return query.Query{}, false
		}
		q, err = query.ParseText(file, text)
		return q, err == nil
	}
	q, err := c.g.silent().resolveQuery(name)
	return q, err == nil
}

// valuesOf lists the values that a parameter can have: those that the data has, where its
// header says how to find them, and that mean nothing to a shell.
func (c completer) valuesOf(ctx context.Context, q query.Query, name string) []string {
	const (
		most    = 200
		longest = 3 * time.Second // a shell that waits longer seems stuck
	)
	p, ok := q.Param(name)
	if !ok || p.Values == "" {
		return p.Choices()
	}
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	db, err := openCatalog(ctx, c.g.silent(), query.Options{})
	if err != nil {
		return nil
	}
	defer db.Close()
	values, _, err := db.ParamValues(ctx, p, most)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(values, func(value string) bool { return strings.ContainsFunc(value, isActive) })
}

// isActive reports whether a character may mean something to a shell. Bash puts what
// several proposals begin with on the line as it is, and evaluates the line to complete it
// further: a name such as $(reboot), which the service may give, would be run.
func isActive(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" _-.,:/+@%=", r)
}

// completeTable proposes the tables of main and, behind their schema, those of meta and the
// views of mart.
func completeTable(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []string
	if tables, err := dictionary.Read(nil); err == nil {
		for _, t := range tables {
			if !slices.Contains(args, t.Name()) {
				names = append(names, t.Name())
			}
		}
	}
	return proposing(names, typed)
}

// completeList proposes the next of several names with commas between them.
func completeList(names []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		var lists []string
		for _, name := range names {
			if !slices.Contains(strings.Split(before, ","), name) {
				lists = append(lists, before+name)
			}
		}
		found, directive := proposing(lists, typed)
		return found, directive | cobra.ShellCompDirectiveNoSpace
	}
}

// completeStreams proposes streams, with commas between them.
func completeStreams(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return completeList(streamNames(stream.All()))(cmd, args, typed)
}

// completeRun proposes runs of the warehouse, the newest first.
func (c completer) completeRun(list func(*warehouse.Warehouse) ([]string, error)) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		wh, _, err := c.g.silent().openWarehouse()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		runs, err := list(wh)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		slices.Sort(runs)
		slices.Reverse(runs)
		found, directive := proposing(slices.Compact(runs), typed)
		return found, directive | cobra.ShellCompDirectiveKeepOrder
	}
}

// publishedRuns are the runs whose snapshot the history has.
func publishedRuns(wh *warehouse.Warehouse) (runs []string, err error) {
	all, err := wh.Ledger.Runs()
	if err != nil {
		return keptVersions(wh) // the ledger is not open to everybody who may read snapshots
	}
	for _, r := range all {
		if r.IsPublished() && r.Kind != ledger.Rollback {
			runs = append(runs, r.ID)
		}
	}
	return runs, nil
}

// keptVersions are the runs whose version is there.
func keptVersions(wh *warehouse.Warehouse) ([]string, error) { return wh.Versions.List() }

// landedRuns are the runs whose answers are there.
func landedRuns(wh *warehouse.Warehouse) ([]string, error) { return wh.Folder.LandedRuns() }
