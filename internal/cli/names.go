package cli

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"placementsync/internal/audit"
	"placementsync/internal/config"
	"placementsync/internal/nearest"
	"placementsync/internal/query"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
	"placementsync/schema"
)

// refuseUnknownNames is a [config.Validation]. Streams, columns and checks in the configuration
// must exist: a misspelt name would skip a stream or publish private data.
func refuseUnknownNames(c config.Config, refuse func(path string, value any, message string)) {
	for _, list := range []struct {
		path     string
		patterns []string
	}{{"streams.include", c.Streams.Include}, {"streams.exclude", c.Streams.Exclude}} {
		for i, pattern := range list.patterns {
			if hint := SuggestStream(pattern); hint != "" {
				refuse(fmt.Sprintf("%s[%d]", list.path, i), pattern, "is not a stream: "+hint)
			}
		}
	}
	if len(ChooseStreams(c.Streams.Include, nil)) > 0 && len(ChooseStreams(c.Streams.Include, c.Streams.Exclude)) == 0 {
		refuse("streams.exclude", nil, "excludes every stream: remove a pattern, or add streams to streams.include")
	}
	checkSet, err := query.LoadChecks(c.Checks.Dir)
	// Damaged files in checks.dir are reported when the checks run.
	if damaged := (*query.FilesError)(nil); err != nil && !errors.As(err, &damaged) {
		refuse("checks", nil, err.Error())
	}
	audit.RefuseFaults(checkSet.List(), ConfiguredRules(c.Checks), func(path string, value any, message string) {
		refuse("checks.rules."+path, value, message)
	})
	for _, column := range slices.Sorted(maps.Keys(c.API.Fields)) {
		if hint := suggestField(column, c.API.Fields); hint != "" {
			refuse("api.fields."+column, nil, hint)
		}
	}
	for path, columns := range map[string][]string{"privacy.drop": c.Privacy.Drop, "privacy.hash": c.Privacy.Hash} {
		for i, name := range columns {
			if hint := suggestColumn(name); hint != "" {
				refuse(fmt.Sprintf("%s[%d]", path, i), name, "is not a column: "+hint)
			}
		}
	}
	for i, name := range c.History.Ignore {
		if hint := suggestIgnored(name); hint != "" {
			refuse(fmt.Sprintf("history.ignore[%d]", i), name, hint)
		}
	}
}

// suggestIgnored returns advice if an element of history.ignore cannot be used, else "".
func suggestIgnored(name string) string {
	parts := strings.SplitN(name, ".", 3)
	if len(parts) < 2 {
		return "" // package config reports it
	}
	if hint := suggestColumn(parts[0] + "." + parts[1]); hint != "" {
		return "is not a column: " + hint
	}
	for _, t := range stream.Tables(stream.AllWithEvents()) {
		if t.Name == parts[0] && (slices.Contains(t.Key, parts[1]) || slices.Contains(t.Parents, parts[1])) {
			return "identifies its row, and cannot be ignored: remove the line"
		}
	}
	tables, _ := schema.Definitions()
	if c, _ := tables[parts[0]].Column(parts[1]); len(parts) == 3 && c.Type != stream.JSON {
		return fmt.Sprintf("is a member, but the column is not JSON: write %s.%s", parts[0], parts[1])
	}
	return ""
}

// ConfiguredRules returns the rules in checks.rules, by the name of the check.
func ConfiguredRules(c config.Checks) map[string]audit.Rule {
	rules := map[string]audit.Rule{}
	for name, r := range c.Rules {
		rules[name] = audit.Rule(r)
	}
	return rules
}

// ChooseStreams returns the names of the streams that match a pattern of streams.include and no
// pattern of streams.exclude. An empty include matches every stream.
func ChooseStreams(include, exclude []string) (chosen []string) {
	for _, name := range stream.Names(stream.All()) {
		if (len(include) == 0 || matchesAny(name, include)) && !matchesAny(name, exclude) {
			chosen = append(chosen, name)
		}
	}
	return chosen
}

// SuggestStream returns advice if no stream matches a pattern, else "". It also returns "" for an empty or
// invalid pattern, which package config reports.
func SuggestStream(pattern string) string {
	names := stream.Names(stream.All())
	_, err := path.Match(pattern, "")
	if err != nil || pattern == "" || slices.ContainsFunc(names, func(name string) bool { return matchesAny(name, []string{pattern}) }) {
		return ""
	}
	if near := nearest.FindNearest(names, pattern); near != "" {
		return "did you mean " + near + "?"
	}
	return "use one of " + strings.Join(names, ", ")
}

func matchesAny(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// suggestField returns advice if a line of api.fields cannot be used, else "".
func suggestField(column string, fields map[string]string) string {
	if hint := suggestColumn(column); hint != "" {
		return "is not a column: " + hint
	}
	table, _, _ := strings.Cut(column, ".")
	for other, field := range fields {
		if other != column && field == fields[column] && strings.HasPrefix(other, table+".") {
			return fmt.Sprintf("has the same field as %s: remove one of the two lines", other)
		}
	}
	defs, _ := schema.Definitions()
	defs = stream.WithOtherNames(defs, map[string]string{column: fields[column]})
	for _, s := range stream.AllWithEvents() {
		if slices.Contains(stream.FilledBy([]stream.Stream{s}, table), s.Name) {
			if _, err := transform.Compile(s, defs); err != nil {
				return fmt.Sprintf("cannot be used: %v: remove the line", err)
			}
		}
	}
	return ""
}

// suggestColumn returns "" for an existing column, and for a name without a dot, which package config reports.
func suggestColumn(name string) string {
	table, column, hasDot := strings.Cut(name, ".")
	tables, _ := schema.Definitions()
	def, known := tables[table]
	if _, exists := def.Column(column); exists || !hasDot {
		return ""
	}
	var names []string
	for _, t := range slices.Sorted(maps.Keys(tables)) {
		for _, c := range tables[t].Columns {
			names = append(names, t+"."+c.Name)
		}
	}
	if near := nearest.FindNearest(names, name); near != "" {
		return "did you mean " + near + "?"
	}
	if known {
		return "run placementsync schema " + table + ", which lists the columns of " + table
	}
	return "run placementsync schema, which lists all tables"
}
