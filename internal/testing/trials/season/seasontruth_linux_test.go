package season_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"placementsync/internal/stream"
	"placementsync/internal/testing/trials"
)

// serviceState contains the expected rows of every table, derived from the service at one time.
type serviceState struct {
	// known contains the rows of the records that are in the lists or in the warehouse.
	known map[string][]trials.TextRow
	// rows also contains the rows of records that were in the lists earlier in the night.
	rows map[string][]trials.TextRow
}

// seasonSnapshot is a published night.
type seasonSnapshot struct {
	trials.NightData
	// hadAccident means that an accident ended the run after it was published. parquet/ may lack its
	// day until the next run adds the day.
	hadAccident bool
}

func (s *season) last() seasonSnapshot { return s.snapshots[len(s.snapshots)-1] }

// seenTexts contains all values that the service has had in a column of a row. The key consists of
// table, key of the row and column.
type seenTexts map[string]map[string]bool

func (s seenTexts) addRows(ref *trials.Reference, rows map[string][]trials.TextRow) {
	for _, spec := range ref.UniqueTables() {
		for _, r := range rows[spec.Table] {
			place := spec.Table + "/" + trials.KeyOf(spec, r)
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
func splitExtra(r trials.TextRow) trials.TextRow {
	object, _ := trials.Decode(cmp.Or(r["extra"], "{}")).(map[string]any)
	if object == nil {
		return r
	}
	all := maps.Clone(r)
	delete(all, "extra")
	for name, v := range object {
		all["extra."+name] = trials.Canonical(v)
	}
	return all
}

// readRows reads all published tables.
func (s *season) readRows() map[string][]trials.TextRow {
	s.T.Helper()
	all, db := map[string][]trials.TextRow{}, s.Catalog()
	for _, spec := range s.ref.UniqueTables() {
		all[spec.Table] = trials.ReadTable(s.T, spec, db, "main."+spec.Table)
	}
	return all
}

// readService returns the current state of the service.
func (s *season) readService() serviceState {
	s.ref.RequestedIDs = s.knownIDs()
	known := s.ref.CurrentRows()
	if s.nightIDs == nil {
		return serviceState{known, known}
	}
	maps.Copy(s.nightIDs, s.ref.RequestedIDs)
	s.ref.RequestedIDs = s.nightIDs
	return serviceState{known, s.ref.CurrentRows()}
}

// knownIDs returns the ids in the published rows. A night requests these ids even if no list contains them any more.
func (s *season) knownIDs() map[trials.RequestedID]bool {
	known := map[trials.RequestedID]bool{}
	if len(s.snapshots) == 0 {
		return known
	}
	add := func(spec trials.TableSpec, table, column string) {
		for _, r := range s.last().Rows[table] {
			if r[column] != "" {
				known[trials.RequestedID{IDs: spec.IDs, ID: r[column]}] = true
			}
		}
	}
	for _, spec := range s.ref.Tables {
		if spec.IDs == "" || spec.IDs == "team" {
			continue
		}
		for _, ref := range strings.Fields(spec.IDs) {
			table, column, _ := strings.Cut(ref, ".")
			add(spec, table, column)
		}
		if spec.At == "" {
			add(spec, spec.Table, paramColumn(spec))
		}
	}
	return known
}

// paramColumn returns the column with the value of the path parameter. Without such a column, the
// parameter is the key of the table.
func paramColumn(spec trials.TableSpec) string {
	for _, columnSpec := range strings.Fields(spec.Text) {
		if name, sources := trials.Column(columnSpec); slices.Contains(sources, "?") {
			return name
		}
	}
	return spec.Key
}

// takeSnapshot compares a newly published version with the service, and adds the snapshot of the version.
// hadAccident means that an accident ended the run after the publish.
func (s *season) takeSnapshot(run string, hadAccident bool) {
	s.T.Helper()
	trials.RequireChecksums(s.T, s.Path("latest"))
	m := trials.ReadManifest(s.T, s.Path("latest"))
	rows, states := s.readRows(), s.states[run]
	if len(states) == 0 || m.RunID != run {
		s.T.Fatalf("day %d: version %s is not of a run of this day, or its manifest has another run: %s", s.Service.Day(), run, m.RunID)
	}
	proven := s.provenStreams(run)
	for _, spec := range s.ref.UniqueTables() {
		isProven := !slices.ContainsFunc(stream.FilledBy(s.Config.Streams, spec.Table), func(name string) bool { return !proven[name] })
		for _, problem := range s.compareTable(spec, states, rows[spec.Table], isProven) {
			s.T.Errorf("day %d, run %s, proven %t: %s", s.Service.Day(), run, isProven, problem)
		}
	}
	s.requireEvents()
	next := seasonSnapshot{trials.NightData{At: m.SnapshotAt, Rows: rows}, hadAccident}
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
	s.T.Helper()
	proven := map[string]bool{}
	for _, row := range trials.Query(s.T, s.Catalog(), "SELECT stream, grade, coalesce(reason, '') FROM meta.streams WHERE run_id = ?", run) {
		grade := stream.Grade(row[1].String)
		proven[row[0].String] = grade == stream.Exact || grade == stream.Repaired
		if !proven[row[0].String] && row[2].String == "" {
			s.T.Errorf("run %s: the grade of %s is %s without a reason, want a reason", run, row[0].String, grade)
		}
	}
	if len(proven) != len(s.Config.Streams) {
		s.T.Errorf("run %s: meta.streams has %d streams, want %d", run, len(proven), len(s.Config.Streams))
	}
	return proven
}

// compareTable compares a published table with the states of the service during the run. isProven
// means that all streams of the table are graded exact or repaired. In a proven table, a record that
// existed during the whole run must be published, with values that it had during the run. Other
// values, in proven and unproven tables, may also be empty or come from an earlier night. A row that
// was published before must still be published if its record existed during the whole run.
func (s *season) compareTable(spec trials.TableSpec, states []serviceState, rows []trials.TextRow, isProven bool) (problems []string) {
	got := trials.RowsByKey(spec, rows)
	var all, known []map[string]trials.TextRow // the rows of each state, by key
	for _, state := range states {
		all, known = append(all, trials.RowsByKey(spec, state.rows[spec.Table])), append(known, trials.RowsByKey(spec, state.known[spec.Table]))
	}
	isMissing := func(states []map[string]trials.TextRow, key string) bool {
		return slices.ContainsFunc(states, func(state map[string]trials.TextRow) bool { return state[key] == nil })
	}
	exists := func(key string) bool {
		return slices.ContainsFunc(all, func(state map[string]trials.TextRow) bool { return state[key] != nil })
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		switch place := spec.Table + "/" + trials.KeyOf(spec, got[key]); {
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
	var before map[string]trials.TextRow
	if len(s.snapshots) > 0 {
		before = trials.RowsByKey(spec, s.last().Rows[spec.Table])
	}
	for _, key := range slices.Sorted(maps.Keys(known[0])) {
		_, isPublished := got[key]
		_, wasPublished := before[key]
		if !isPublished && !isMissing(known, key) && (isProven || wasPublished) {
			problems = append(problems, fmt.Sprintf("%s lacks the row %s (published before: %t)", spec.Table, key, wasPublished))
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
	for _, spec := range s.ref.UniqueTables() {
		if !strings.Contains(message, "rows of "+spec.Table+" ") && !strings.Contains(message, "rows of "+spec.Table+",") {
			continue
		}
		now, before := trials.RowsByKey(spec, current[spec.Table]), trials.RowsByKey(spec, s.last().Rows[spec.Table])
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

// compareWithStates checks that each value of a row equals the value of the row in one of the states.
func compareWithStates(place string, row trials.TextRow, states []map[string]trials.TextRow, key string) (problems []string) {
	columns := maps.Clone(row)
	for _, state := range states {
		maps.Copy(columns, state[key])
	}
	for _, column := range slices.Sorted(maps.Keys(columns)) {
		matches := func(state map[string]trials.TextRow) bool {
			return state[key] != nil && state[key][column] == row[column]
		}
		if !slices.ContainsFunc(states, matches) {
			problems = append(problems, fmt.Sprintf("%s.%s is %q, want %q as in the service", place, column, row[column], columns[column]))
		}
	}
	return problems
}

// requireEvents checks that the published version contains all acknowledged events.
func (s *season) requireEvents() {
	s.T.Helper()
	var stored []string
	for _, row := range trials.Query(s.T, s.Catalog(), "SELECT event_id FROM meta.webhook_events") {
		stored = append(stored, row[0].String)
	}
	for _, id := range s.acknowledged {
		if !slices.Contains(stored, id) {
			s.T.Errorf("day %d: the acknowledged event %s is missing; the night has %d events", s.Service.Day(), id, len(stored))
		}
	}
}

// requireRows compares the tables with the last published night. It is called after an operation
// that must restore these rows.
func (s *season) requireRows() {
	s.T.Helper()
	for _, spec := range s.ref.UniqueTables() {
		trials.CheckTable(s.T, spec, s.last().Rows, s.Catalog(), "main."+spec.Table)
	}
}

// requireHistory compares the history with the rows of all published nights.
func (s *season) requireHistory() {
	s.T.Helper()
	var nights []trials.NightData
	for _, snapshot := range s.snapshots {
		nights = append(nights, snapshot.NightData)
	}
	s.RequireHistory(s.ref, nights)
}
