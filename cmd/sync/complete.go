package main

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
	"placementsync/schema"
)

// The functions in this file complete command lines. They must be fast and silent: after
// an error they propose no values, and the command itself reports the error.

func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	_ = cmd.RegisterFlagCompletionFunc(flag, complete) // fails only for an unknown flag; a test completes every flag
}

func propose(all []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	fitting := slices.DeleteFunc(slices.Clone(all), func(proposal string) bool { return !strings.HasPrefix(proposal, typed) })
	return fitting, cobra.ShellCompDirectiveNoFileComp
}

func (g *globals) completeQuery(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []string
	if all, err := g.silent().loadQueries(); err == nil && len(args) == 0 {
		for _, q := range all.List() {
			names = append(names, cobra.CompletionWithDesc(q.Name, q.Title))
		}
	}
	return propose(names, typed)
}

func (g *globals) completeParam(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var o queryOptions
	if flag := cmd.Flags().Lookup("query"); flag != nil { // of export
		args = []string{flag.Value.String()}
	} else if len(args) == 0 {
		o.file = cmd.Flags().Lookup("file").Value.String()
	}
	q, err := o.readQuery(args, g.silent().loadQueries)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if name, _, ok := strings.Cut(typed, "="); ok {
		var values []string
		for _, value := range g.valuesOf(cmd.Context(), q, name) {
			values = append(values, name+"="+value)
		}
		return propose(values, typed)
	}
	var names []string
	for _, p := range q.Params {
		names = append(names, cobra.CompletionWithDesc(p.Name+"=", p.About))
	}
	completions, directive := propose(names, typed)
	return completions, directive | cobra.ShellCompDirectiveNoSpace
}

func (g *globals) valuesOf(ctx context.Context, q query.Query, name string) []string {
	const (
		maxValues = 200
		timeout   = 3 * time.Second // the shell is blocked meanwhile
	)
	p, ok := q.Param(name)
	if !ok || p.Values == "" {
		return p.Choices()
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	db, err := openCatalog(ctx, g.silent(), query.Options{})
	if err != nil {
		return nil
	}
	defer db.Close()
	values, _, err := db.ParamValues(ctx, p, maxValues)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(values, func(value string) bool { return strings.ContainsFunc(value, isShellSyntax) })
}

// isShellSyntax reports whether a character may have a meaning to a shell. Bash inserts the
// common prefix of the proposals unquoted and evaluates the line for further completion. A value
// such as $(reboot) from the service would then be executed.
func isShellSyntax(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" _-.,:/+@%=", r)
}

func completeTable(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []string
	for _, t := range schema.All() {
		if !slices.Contains(args, t.Name()) {
			names = append(names, t.Name())
		}
	}
	return propose(names, typed)
}

func completeStreams(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	finished := typed[:strings.LastIndex(typed, ",")+1]
	var proposals []string
	for _, name := range stream.Names(stream.All()) {
		if !slices.Contains(strings.Split(finished, ","), name) {
			proposals = append(proposals, finished+name)
		}
	}
	completions, directive := propose(proposals, typed)
	return completions, directive | cobra.ShellCompDirectiveNoSpace
}

func (g *globals) completeRun(runsOf func(*warehouse.Warehouse) ([]string, error)) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var runs []string
		if wh, _, err := g.silent().openWarehouse(); err == nil {
			runs, _ = runsOf(wh)
		}
		slices.Sort(runs)
		slices.Reverse(runs)
		completions, directive := propose(slices.Compact(runs), typed)
		return completions, directive | cobra.ShellCompDirectiveKeepOrder
	}
}

func publishedRuns(wh *warehouse.Warehouse) (runs []string, err error) {
	all, err := wh.RunLog.Runs()
	if err != nil {
		return keptVersions(wh) // some users have access to snapshots but not to the ledger
	}
	for _, r := range all {
		if r.IsPublished() && r.Kind != ledger.Rollback {
			runs = append(runs, r.ID)
		}
	}
	return runs, nil
}

func keptVersions(wh *warehouse.Warehouse) ([]string, error) { return wh.Versions.List() }

func runsWithResponses(wh *warehouse.Warehouse) ([]string, error) {
	return wh.Folder.RunsWithResponses()
}
