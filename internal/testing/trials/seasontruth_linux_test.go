package trials_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
)

// serviceState contains the expected rows of every table, derived from the service at one time.
type serviceState struct {
	// known contains the rows of the records that are in the lists or in the warehouse.
	known map[string][]textRow
	// rows also contains the rows of records that were in the lists earlier in the night.
	rows map[string][]textRow
}

// seasonSnapshot is a published night.
type seasonSnapshot struct {
	at   time.Time
	rows map[string][]textRow
	// nightsSinceWrong counts the nights since wrong values were published. If no wrong values were
	// published, it begins at taintedNights+1.
	nightsSinceWrong int
	// hadAccident means that an accident ended the run after it was published. parquet/ may lack its
	// day until the next run adds the day.
	hadAccident bool
}

// taintedNights is a number of nights. After wrong values were published, the values can change back to
// the correct ones in any of the next taintedNights nights.
const taintedNights = 8

func (s *season) last() seasonSnapshot { return s.snapshots[len(s.snapshots)-1] }

// seenTexts contains all values that the service has had in a column of a row. The key consists of
// table, key of the row and column.
type seenTexts map[string]map[string]bool

func (s seenTexts) addRows(ref *reference, rows map[string][]textRow) {
	for _, spec := range ref.uniqueTables() {
		for _, r := range rows[spec.table] {
			place := spec.table + "/" + keyOf(spec, r)
			for column, text := range splitExtra(r) {
				if s[place+"."+column] == nil {
					s[place+"."+column] = map[string]bool{}
				}
				s[place+"."+column][text] = true
			}
		}
	}
}

// splitExtra replaces the column "extra" by a column for each member of its JSON object. Members are
// compared one by one, because some can come from a list and others from an older detail.
func splitExtra(r textRow) textRow {
	object, _ := decode(cmp.Or(r["extra"], "{}")).(map[string]any)
	if object == nil {
		return r
	}
	all := maps.Clone(r)
	delete(all, "extra")
	for name, v := range object {
		all["extra."+name] = canonical(v)
	}
	return all
}

// readRows reads all published tables.
func (s *season) readRows() map[string][]textRow {
	s.t.Helper()
	all, db := map[string][]textRow{}, s.catalog()
	for _, spec := range s.ref.uniqueTables() {
		all[spec.table] = readTable(s.t, spec, db, "main."+spec.table)
	}
	return all
}

// readService returns the current state of the service.
func (s *season) readService() serviceState {
	s.ref.requestedIDs = s.knownIDs()
	known := s.ref.currentRows()
	if s.nightIDs == nil {
		return serviceState{known, known}
	}
	for columns, ids := range s.ref.requestedIDs {
		if s.nightIDs[columns] == nil {
			s.nightIDs[columns] = map[string]bool{}
		}
		maps.Copy(s.nightIDs[columns], ids)
	}
	s.ref.requestedIDs = s.nightIDs
	return serviceState{known, s.ref.currentRows()}
}

// knownIDs returns the ids in the published rows. A night requests these ids even if no list
// contains them any more.
func (s *season) knownIDs() map[string]map[string]bool {
	known := map[string]map[string]bool{}
	if len(s.snapshots) == 0 {
		return known
	}
	for _, spec := range s.ref.tables {
		if spec.ids == "" || spec.ids == "team" {
			continue
		}
		if known[spec.ids] == nil {
			known[spec.ids] = map[string]bool{}
		}
		for _, ref := range strings.Fields(spec.ids) {
			table, column, _ := strings.Cut(ref, ".")
			s.addIDs(known[spec.ids], table, column)
		}
		if spec.at == "" {
			s.addIDs(known[spec.ids], spec.table, paramColumn(spec))
		}
	}
	return known
}

func (s *season) addIDs(ids map[string]bool, table, column string) {
	for _, r := range s.last().rows[table] {
		if r[column] != "" {
			ids[r[column]] = true
		}
	}
}

// paramColumn returns the column with the value of the path parameter. Without such a column, the
// parameter is the key of the table.
func paramColumn(spec tableSpec) string {
	for _, columnSpec := range strings.Fields(spec.text) {
		if name, sources := column(columnSpec); slices.Contains(sources, "?") {
			return name
		}
	}
	return spec.key
}

// takeSnapshot compares a newly published version with the service, and adds the snapshot of the version.
// hadAccident means that an accident ended the run after the publish.
func (s *season) takeSnapshot(run string, hadAccident bool) {
	s.t.Helper()
	requireChecksums(s.t, s.path("latest"))
	m := readManifest(s.t, s.path("latest"))
	rows, states := s.readRows(), s.states[run]
	if len(states) == 0 || m.RunID != run {
		s.t.Fatalf("day %d: version %s is not of a run of this day, or its manifest has another run: %s", s.service.Day(), run, m.RunID)
	}
	proven := s.provenStreams(run)
	for _, spec := range s.ref.uniqueTables() {
		isProven := !slices.ContainsFunc(stream.FilledBy(s.cfg.Streams, spec.table), func(name string) bool { return !proven[name] })
		for _, problem := range s.compareTable(spec, states, rows[spec.table], isProven) {
			s.t.Errorf("day %d, run %s, proven %t: %s", s.service.Day(), run, isProven, problem)
		}
	}
	s.requireEvents()
	next := seasonSnapshot{at: m.SnapshotAt, rows: rows, nightsSinceWrong: taintedNights + 1, hadAccident: hadAccident}
	if len(s.snapshots) > 0 {
		next.nightsSinceWrong = s.last().nightsSinceWrong + 1
	}
	if s.valueFaultByRun[run] != "" {
		s.requireWrongValuesReported(run, proven, rows)
		next.nightsSinceWrong = 0
	}
	s.counts["published"]++
	s.allowDeletes = false
	s.setVersion(run, append(slices.Clone(s.snapshots), next))
}

func (s *season) setVersion(run string, snapshots []seasonSnapshot) {
	s.version, s.snapshots, s.snapshotsByVersion[run] = run, snapshots, snapshots
}

// provenStreams returns the streams that meta.streams grades exact or repaired in a run. All other
// streams must have a reason.
func (s *season) provenStreams(run string) map[string]bool {
	s.t.Helper()
	proven := map[string]bool{}
	for _, row := range query(s.t, s.catalog(), "SELECT stream, grade, coalesce(reason, '') FROM meta.streams WHERE run_id = ?", run) {
		grade := stream.Grade(row[1].String)
		proven[row[0].String] = grade == stream.Exact || grade == stream.Repaired
		if !proven[row[0].String] && row[2].String == "" {
			s.t.Errorf("run %s: the grade of %s is %s without a reason, want a reason", run, row[0].String, grade)
		}
	}
	if len(proven) != len(s.cfg.Streams) {
		s.t.Errorf("run %s: meta.streams has %d streams, want %d", run, len(proven), len(s.cfg.Streams))
	}
	return proven
}

// compareTable compares a published table with the states of the service during the run. isProven
// means that all streams of the table are graded exact or repaired. In a proven table, a record that
// existed during the whole run must be published, with values that it had during the run. Other
// values, in proven and unproven tables, may also be empty or come from an earlier night. A row that
// was published before must still be published if its record existed during the whole run.
func (s *season) compareTable(spec tableSpec, states []serviceState, rows []textRow, isProven bool) (problems []string) {
	got := rowsByKey(spec, rows)
	var all, known []map[string]textRow // the rows of each state, by key
	for _, state := range states {
		all, known = append(all, rowsByKey(spec, state.rows[spec.table])), append(known, rowsByKey(spec, state.known[spec.table]))
	}
	isMissing := func(states []map[string]textRow, key string) bool {
		return slices.ContainsFunc(states, func(state map[string]textRow) bool { return state[key] == nil })
	}
	exists := func(key string) bool {
		return slices.ContainsFunc(all, func(state map[string]textRow) bool { return state[key] != nil })
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		switch place := spec.table + "/" + keyOf(spec, got[key]); {
		case isProven && !exists(key):
			problems = append(problems, place+" does not exist in the service")
		case isProven && !isMissing(known, key):
			problems = append(problems, compareWithStates(place, got[key], all, key)...)
		default:
			for column, text := range splitExtra(got[key]) {
				if text != "" && !s.seen[place+"."+column][text] {
					problems = append(problems, fmt.Sprintf("%s.%s has %q, which the service never had", place, column, text))
				}
			}
		}
	}
	var before map[string]textRow
	if len(s.snapshots) > 0 {
		before = rowsByKey(spec, s.last().rows[spec.table])
	}
	for _, key := range slices.Sorted(maps.Keys(known[0])) {
		_, isPublished := got[key]
		_, wasPublished := before[key]
		if !isPublished && !isMissing(known, key) && (isProven || wasPublished) {
			problems = append(problems, fmt.Sprintf("%s lacks the row %s (published before: %t)", spec.table, key, wasPublished))
		}
	}
	return problems[:min(len(problems), 5)]
}

// isMassDelete reports whether a night had to stop because of too many deletions: the service has
// deleted more than a fifth of the rows of each table in the error message.
func (s *season) isMassDelete(message string) bool {
	if !strings.Contains(message, "would be deleted in one night") || len(s.snapshots) == 0 {
		return false
	}
	current := s.readService().known
	for _, spec := range s.ref.uniqueTables() {
		if !strings.Contains(message, "rows of "+spec.table+" ") && !strings.Contains(message, "rows of "+spec.table+",") {
			continue
		}
		now, before := rowsByKey(spec, current[spec.table]), rowsByKey(spec, s.last().rows[spec.table])
		deleted := 0
		for key := range before {
			if now[key] == nil {
				deleted++
			}
		}
		if 5*deleted <= len(before) {
			return false
		}
	}
	return true
}

// compareWithStates checks that each value of a row equals the value of the row in one of the
// states.
func compareWithStates(place string, row textRow, states []map[string]textRow, key string) (problems []string) {
	columns := maps.Clone(row)
	for _, state := range states {
		maps.Copy(columns, state[key])
	}
	for _, column := range slices.Sorted(maps.Keys(columns)) {
		matches := func(state map[string]textRow) bool { return state[key] != nil && state[key][column] == row[column] }
		if !slices.ContainsFunc(states, matches) {
			problems = append(problems, fmt.Sprintf("%s.%s is %q, want %q as in the service", place, column, row[column], columns[column]))
		}
	}
	return problems
}

// requireEvents checks that the published version contains all acknowledged events.
func (s *season) requireEvents() {
	s.t.Helper()
	var stored []string
	for _, row := range query(s.t, s.catalog(), "SELECT event_id FROM meta.webhook_events") {
		stored = append(stored, row[0].String)
	}
	for _, id := range s.acknowledged {
		if !slices.Contains(stored, id) {
			s.t.Errorf("day %d: the acknowledged event %s is missing; the night has %d events", s.service.Day(), id, len(stored))
		}
	}
}

// hasWrongPrices ends the faults in the values of the service, and reports whether a published price
// differs from the correct price. A run that was killed before it read the listings, and then resumed,
// has correct prices.
func (s *season) hasWrongPrices(rows map[string][]textRow) bool {
	s.service.SetValueFaults()
	correct := s.readService().known
	for _, spec := range s.ref.uniqueTables() {
		prices := rowsByKey(spec, correct[spec.table])
		for key, row := range rowsByKey(spec, rows[spec.table]) {
			if spec.table == "product_listing_prices" && prices[key] != nil && prices[key]["unit_amount"] != row["unit_amount"] {
				return true
			}
		}
	}
	return false
}

// requireWrongValuesReported checks a published night during which the service returned wrong values.
// rows are the published rows. If their prices are multiplied or divided by 100, a check must have held
// the night before it was published, with three exceptions: it is the first night, wrong values were
// published shortly before, or the lists of listings are not proven to be complete. Zero prices must be
// reported.
func (s *season) requireWrongValuesReported(run string, proven map[string]bool, rows map[string][]textRow) {
	s.t.Helper()
	isProven := proven["product_listings"] && proven["outlet_listings"]
	switch s.valueFaultByRun[run] {
	case "zero prices":
		zero := s.count("product_listing_prices", "unit_amount <= 0")
		if n := s.count("meta.checks", "run_id = ? AND check_name = 'prices_not_positive' AND outcome = 'failed'", run); zero > 0 && isProven && n != 1 {
			s.t.Errorf("day %d: %d prices are zero, and meta.checks has %d failures of prices_not_positive, want 1", s.service.Day(), zero, n)
		}
	case "prices times 100", "prices divided by 100":
		if isProven && s.acceptedRun != run && len(s.snapshots) > 0 && s.last().nightsSinceWrong > taintedNights && s.hasWrongPrices(rows) {
			s.t.Errorf("day %d: the night published %s, want it held", s.service.Day(), s.valueFaultByRun[run])
		}
	}
}

// requireRows compares the tables with the last published night. It is called after an operation
// that must restore these rows.
func (s *season) requireRows(after string) {
	s.t.Helper()
	want, got := s.last().rows, s.readRows()
	for _, spec := range s.ref.uniqueTables() {
		if diff := gocmp.Diff(rowsByKey(spec, want[spec.table]), rowsByKey(spec, got[spec.table])); diff != "" {
			s.t.Errorf("day %d: after %s, %s differs (-published +now):\n%.2000s", s.service.Day(), after, spec.table, diff)
		}
	}
}

// requireHistory compares the history with the rows of all published nights.
func (s *season) requireHistory(when string) {
	s.t.Helper()
	var nightValues []string
	for i, night := range s.snapshots {
		nightValues = append(nightValues, fmt.Sprintf("('%d', TIMESTAMPTZ '%s+00')", i, night.at.UTC().Format(microsecondLayout)))
	}
	for _, spec := range s.ref.uniqueTables() {
		tableExpr := fmt.Sprintf("(SELECT h.*, night FROM history.%s h JOIN (VALUES %s) n(night, night_at) ON h.valid_from <= night_at AND (h.valid_to IS NULL OR night_at < h.valid_to))",
			spec.table, strings.Join(nightValues, ", "))
		byNight := make([][]textRow, len(s.snapshots))
		for _, r := range readTexts(s.t, spec, s.catalog(), tableExpr, columnTypes(s.t, s.catalog(), tableExpr)) {
			i, err := strconv.Atoi(r["night"])
			testharness.Must(s.t, err)
			delete(r, "night")
			byNight[i] = append(byNight[i], r)
		}
		for i, night := range s.snapshots {
			if diff := gocmp.Diff(rowsByKey(spec, night.rows[spec.table]), rowsByKey(spec, byNight[i])); diff != "" {
				s.t.Errorf("day %d, %s: the history of %s at %s differs (-published +history):\n%.2000s", s.service.Day(), when, spec.table, night.at, diff)
				break
			}
		}
	}
}
