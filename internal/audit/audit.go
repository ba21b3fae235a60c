// Package audit checks a snapshot. A check is a query that returns the violating rows. The
// shipped checks are in queries/checks; a folder may contain more.
// The package must not know how a night is read or published: its caller opens the snapshot.
package audit

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/nearest"
	"placementsync/internal/query"
	"placementsync/internal/stream"
)

// scopeFiles contains the questions about a run. Their parameter $run is the id of the run.
//
//go:embed sql
var scopeFiles embed.FS

// Rule changes the severity and the parameters of a check.
type Rule struct {
	// Severity is hold, warn or off. Empty means the severity that the check declares.
	Severity string
	// Params are values of the check's parameters by name.
	Params map[string]string
}

// Set contains the checks that are run on a snapshot.
type Set struct {
	checks  []query.Query
	rules   map[string]Rule
	private []string
}

// Load returns the shipped checks and the checks of a folder, with the severities and parameters in
// rules. private lists the columns, as table.column, whose values are dropped or hashed. If the error is a
// *query.FilesError, the set lacks only the checks in the files that the error names.
func Load(dir string, rules map[string]Rule, private []string) (Set, error) {
	library, err := query.LoadChecks(dir)
	s := Set{rules: rules, private: private}
	for _, q := range library.List() {
		rule := rules[q.Name]
		if rule.Severity == "off" {
			continue
		}
		if rule.Severity != "" {
			q.Severity = rule.Severity
		}
		s.checks = append(s.checks, q)
	}
	return s, err
}

func (s Set) List() []query.Query { return slices.Clone(s.checks) }

// Choose returns the set with only the named checks, or the whole set if names is empty. An unknown
// name is a *query.UsageError.
func (s Set) Choose(names []string) (Set, error) {
	if len(names) == 0 {
		return s, nil
	}
	chosen := s
	chosen.checks = nil
	known := checkNames(s.checks)
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			return s, &query.UsageError{Problem: fmt.Sprintf("no check is named %q", name) + query.SuggestNames(known, name, "checks")}
		}
		chosen.checks = append(chosen.checks, s.checks[i])
	}
	return chosen, nil
}

func checkNames(queries []query.Query) (names []string) {
	for _, q := range queries {
		names = append(names, q.Name)
	}
	return names
}

// RefuseFaults calls refuse for each unknown check, unknown or reserved parameter and value of the wrong
// type in rules. path is the path of the key below checks.rules. value is nil if the key is unknown.
// existing contains all checks.
func RefuseFaults(existing []query.Query, rules map[string]Rule, refuse func(path string, value any, message string)) {
	known := checkNames(existing)
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		i := slices.Index(known, name)
		if i < 0 {
			refuse(name, nil, "is not a check: "+suggest(known, name))
			continue
		}
		var params []string
		for _, p := range existing[i].Params {
			if !isReserved(p.Name) {
				params = append(params, p.Name)
			}
		}
		for _, param := range slices.Sorted(maps.Keys(rules[name].Params)) {
			path, value := name+".params."+param, rules[name].Params[param]
			if !slices.Contains(params, param) {
				advice := suggest(params, param)
				if key := query.ReplacingKey(param); key != "" {
					advice = "set " + key + " instead"
				}
				refuse(path, nil, "is not a parameter of "+name+": "+advice)
				continue
			}
			p, _ := existing[i].Param(param)
			if err := p.CheckValue(value); err != nil {
				refuse(path, value, "is not valid: "+err.Error())
			}
		}
	}
}

func suggest(known []string, word string) string {
	if near := nearest.FindNearest(known, word); near != "" {
		return "did you mean " + near + "?"
	}
	if len(known) == 0 {
		return "the check has no parameters"
	}
	return "use one of " + strings.Join(known, ", ")
}

// isReserved reports whether this package sets the parameter. Rules cannot set it.
func isReserved(param string) bool {
	return slices.Contains([]string{"snapshot", "run", "private"}, param)
}

// Limits of the violating rows in a result, and of their values.
const maxSampleRows, maxValueRunes = 3, 200

// Run runs the checks on an open snapshot, one after another. It returns a result for each check,
// even if the check cannot be run. All queries of a check together have the time limit of one query.
// An error means that the context was canceled, or that the run of the snapshot, its grades or its row
// counts cannot be read.
func (s Set) Run(ctx context.Context, db *query.DB) ([]ledger.CheckResult, error) {
	scope, err := readScope(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("audit the snapshot: %w", err)
	}
	var results []ledger.CheckResult
	for _, q := range s.checks {
		began := time.Now()
		result := s.runCheck(ctx, db, scope, q)
		if cause := context.Cause(ctx); cause != nil {
			return results, cause
		}
		result.Seconds = time.Since(began).Seconds()
		results = append(results, result)
	}
	return results, nil
}

func (s Set) runCheck(ctx context.Context, db *query.DB, scope auditScope, q query.Query) ledger.CheckResult {
	ctx, cancel := db.WithTimeout(ctx)
	defer cancel()
	result := ledger.CheckResult{Name: q.Name, Title: q.Title, Severity: q.Severity}
	parts, values, skipReason := s.prepare(db, scope, q)
	if skipReason != "" {
		result.Outcome, result.Reason = ledger.CheckSkipped, skipReason
		return result
	}
	// A part is the whole check, or its query for one table or reference. The parts run one after
	// another, so that a check needs the memory of only one part. An error of one part must not hide
	// the rows of other parts.
	var err error
	var rows []query.Record
	var total int64
	hasUnreadViolations := false // whether a part has violating rows, but selects only from unread tables
	// collect adds the violating rows of a part. It adds them even if it cannot find out whether their tables are unread.
	collect := func(part query.Query) error {
		partResult, err := db.Collect(ctx, part, values, maxSampleRows)
		if err != nil || partResult.Total == 0 {
			return err
		}
		isUnread, err := scope.selectsOnlyUnread(ctx, db, part, values)
		if isUnread {
			hasUnreadViolations = true
			return nil
		}
		total += partResult.Total
		rows = append(rows, partResult.Rows...)
		return err
	}
	for _, part := range parts {
		if err != nil && ctx.Err() != nil { // the time limit, which ends the other parts too
			break
		}
		partErr := collect(part)
		err = cmp.Or(err, partErr) // the first error
	}
	if err != nil {
		result.Reason = reasonOf(err)
	}
	switch {
	case total > 0: // even if another part did not run
		result.Outcome, result.Rows, result.Sample = ledger.CheckFailed, total, sample(rows[:min(len(rows), maxSampleRows)])
	case err != nil:
		result.Outcome = ledger.CheckNotRun
	case hasUnreadViolations:
		result.Outcome, result.Reason = ledger.CheckSkipped, "its violating rows are in tables that were not read in this night"
	default:
		result.Outcome = ledger.CheckPassed
	}
	return result
}

// NotRun returns the results of all checks of a snapshot that cannot be opened. err is the reason.
func (s Set) NotRun(err error) []ledger.CheckResult {
	var results []ledger.CheckResult
	for _, q := range s.checks {
		results = append(results, ledger.CheckResult{Name: q.Name, Title: q.Title, Severity: q.Severity, Outcome: ledger.CheckNotRun, Reason: reasonOf(err)})
	}
	return results
}

// Prepare returns the query that selects all violating rows of a check in an open snapshot, and the
// values of its parameters. If the check has no data to compare, skipReason says why. An unknown name
// is a *query.UsageError.
func (s Set) Prepare(ctx context.Context, db *query.DB, name string) (q query.Query, values map[string]string, skipReason string, err error) {
	chosen, err := s.Choose([]string{name})
	if err != nil {
		return q, nil, "", err
	}
	scope, err := readScope(ctx, db)
	if err != nil {
		return q, nil, "", fmt.Errorf("audit the snapshot: %w", err)
	}
	parts, values, skipReason := s.prepare(db, scope, chosen.checks[0])
	if skipReason != "" {
		return q, nil, skipReason, nil
	}
	return query.UnionParts(parts), values, "", nil
}

func (s Set) prepare(db *query.DB, scope auditScope, q query.Query) (parts []query.Query, values map[string]string, skipReason string) {
	if skipReason = db.WhyNotComparable(q); skipReason != "" {
		return nil, nil, skipReason
	}
	parts = q.Expand(scope.changedTables, s.private)
	if len(parts) == 0 {
		return nil, nil, "too few rows of its tables changed, or its tables have nothing that it checks"
	}
	values = map[string]string{}
	maps.Copy(values, s.rules[q.Name].Params)
	reserved := map[string]string{
		"snapshot": scope.snapshot.At.Format(time.RFC3339Nano),
		"run":      scope.snapshot.Run,
		"private":  "," + strings.Join(s.private, ",") + ",", // each column between commas
	}
	for _, p := range q.Params {
		if isReserved(p.Name) {
			values[p.Name] = reserved[p.Name]
		}
	}
	return parts, values, ""
}

func reasonOf(err error) string {
	if refused, ok := errors.AsType[*query.RefusedError](err); ok {
		return refused.Plain()
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// sample returns the rows as a JSON array of objects, with long values cut.
func sample(rows []query.Record) json.RawMessage {
	quote := func(text string) string {
		quoted, _ := json.Marshal(text) // encoding a string cannot fail
		return string(quoted)
	}
	var objects []string
	for _, row := range rows {
		var members []string
		for i, column := range row.Columns {
			value := string(column.AppendJSON(nil, row.Values[i]))
			if runes := []rune(row.Values[i].Text); len(runes) > maxValueRunes {
				value = quote(string(runes[:maxValueRunes]) + "...")
			}
			members = append(members, quote(column.Name)+":"+value)
		}
		objects = append(objects, "{"+strings.Join(members, ",")+"}")
	}
	return json.RawMessage("[" + strings.Join(objects, ",") + "]")
}

// auditScope is the audited snapshot and the tables that its run read.
type auditScope struct {
	snapshot      query.Snapshot
	readTables    []string            // tables of the streams that the run of the snapshot read
	changedTables query.ChangedTables // those of readTables with changed rows
}

func readScope(ctx context.Context, db *query.DB) (scope auditScope, err error) {
	if scope.snapshot, err = db.SelectedSnapshot(ctx); err != nil {
		return scope, err
	}
	read := func(question string) (query.Result, error) {
		text, err := scopeFiles.ReadFile("sql/" + question + ".sql")
		if err != nil {
			return query.Result{}, err
		}
		return db.Collect(ctx, query.Text(string(text)), map[string]string{"run": scope.snapshot.Run}, math.MaxInt)
	}
	streams, err := read("stream_grades")
	if err != nil {
		return scope, err
	}
	grades := map[string]stream.Grade{}
	for _, r := range streams.Rows {
		grades[r.Get("stream").Text] = stream.Grade(r.Get("grade").Text)
	}
	counts, err := read("table_changes")
	if err != nil {
		return scope, err
	}
	unknown, err := read("tables_with_unknown_fields")
	if err != nil {
		return scope, err
	}
	for _, r := range unknown.Rows {
		scope.changedTables.WithUnknownFields = append(scope.changedTables.WithUnknownFields, r.Get("table_name").Text)
	}
	// A table without a row in counts is in neither map, so it counts as much changed.
	isUnchanged, isLittleChanged := map[string]bool{}, map[string]bool{}
	for _, r := range counts.Rows {
		table := r.Get("table_name").Text
		isUnchanged[table] = r.Get("is_unchanged").Text == "true"
		isLittleChanged[table] = r.Get("is_little_changed").Text == "true"
	}
	for _, st := range stream.All() {
		if grades[st.Name].IsUnread() {
			continue
		}
		for _, t := range st.Tables {
			if !slices.Contains(scope.readTables, t.Name) {
				scope.readTables = append(scope.readTables, t.Name)
			}
		}
	}
	for _, table := range scope.readTables {
		if isUnchanged[table] {
			continue
		}
		scope.changedTables.Changed = append(scope.changedTables.Changed, table)
		if !isLittleChanged[table] {
			scope.changedTables.MuchChanged = append(scope.changedTables.MuchChanged, table)
		}
	}
	rewritten, err := read("rewritten_tables")
	if err != nil {
		return scope, err
	}
	for _, r := range rewritten.Rows {
		scope.changedTables.Rewritten = append(scope.changedTables.Rewritten, r.Get("table_name").Text)
	}
	return scope, nil
}

// selectsOnlyUnread reports whether q selects from tables of the schema main, but the run of the snapshot
// read none of these tables. An earlier run then audited the rows.
func (scope auditScope) selectsOnlyUnread(ctx context.Context, db *query.DB, q query.Query, values map[string]string) (bool, error) {
	sources, err := db.Sources(ctx, q, values)
	if err != nil || len(sources) == 0 {
		return false, err
	}
	return !slices.ContainsFunc(sources, func(s query.Source) bool { return slices.Contains(scope.readTables, s.Table) }), nil
}
