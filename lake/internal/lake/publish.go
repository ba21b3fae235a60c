package lake

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/sqltext"
)

// Published describes a published night.
type Published struct {
	Run        string    `json:"run_id"`
	SnapshotAt time.Time `json:"snapshot_at"`
	// AlreadyPublished is true if the lake already showed the night.
	AlreadyPublished bool `json:"already_published"`
	// Tables counts the tables of the night. Replaced counts the tables whose files were replaced, and
	// Appended the tables that got one more file. The others only got the new tag.
	Tables   int   `json:"tables"`
	Replaced int   `json:"replaced"`
	Appended int   `json:"appended"`
	Rows     int64 `json:"rows_written"`
	Bytes    int64 `json:"bytes_written"`
	// TagsDropped is true if the catalog does not keep tags. Readers then cannot select a
	// night by its tag.
	TagsDropped bool    `json:"tags_dropped"`
	Seconds     float64 `json:"seconds"`

	// lakeTables are the tables before the commit, and changes are the applied changes.
	lakeTables tables
	changes    []change
}

// unknownResultError means that a commit may have been applied, so its files must be kept.
type unknownResultError struct{ error }

func (e *unknownResultError) Unwrap() error { return e.error }

func unknownResult(err error) error {
	return &unknownResultError{fmt.Errorf("commit to the lake: %w; the night is in the lake completely or not at all: run \"placementsync lake publish --all\", which skips a night that is already there", err)}
}

// Publish commits all tables of a version in one step. It commits nothing if the lake already shows the
// night, and returns an error if the lake shows a later night. If the lake shows the history of another
// warehouse, Publish returns an error, or replaces the history if replaceHistory is set. The commit removes
// the tags and snapshots of all but the newest Config.KeepNights nights. After each successful Publish the
// caller calls Finish.
func (l *Lake) Publish(ctx context.Context, v *Version, replaceHistory bool) (p Published, err error) {
	startedAt := l.cfg.Now()
	p = Published{Run: v.Run, SnapshotAt: v.At, Tables: len(v.sources)}
	defer func() { p.Seconds = l.cfg.Now().Sub(startedAt).Seconds() }()
	lakeTables, states, err := l.loadStates(ctx)
	ownerFileMissing := false
	if err == nil {
		ownerFileMissing, err = l.checkOwner(lakeTables)
	}
	if err != nil {
		return p, err
	}
	if err := checkOrder(v, newestState(states)); err != nil {
		return p, err
	}
	if !replaceHistory {
		if err := checkHistory(v, states); err != nil {
			return p, err
		}
	}
	metadataFiles, err := l.listMetadata(ctx, v, lakeTables)
	if err != nil {
		return p, fmt.Errorf("publish %s: list the metadata files of the lake: %w; this night was not committed to the lake", v.Run, err)
	}
	todo := unpublished(v, lakeTables, states, metadataFiles)
	if len(todo) == 0 {
		p.AlreadyPublished = true
		return p, nil
	}
	actions, err := l.planActions(ctx, v, todo, states)
	if err != nil {
		return p, err
	}
	for i, a := range actions {
		actions[i].metadataFiles = metadataFiles[a.source.name]
	}
	l.planExpiry(v, lakeTables, states, actions)
	changes, err := l.commitActions(ctx, v, lakeTables, actions, &p)
	if err == nil && !ownerFileMissing { // without the file, another catalog may have tables in the same folders
		p.lakeTables, p.changes = lakeTables, changes
	}
	return p, err
}

// commitActions writes the files of a night and commits them. It returns the applied changes.
func (l *Lake) commitActions(ctx context.Context, v *Version, lakeTables tables, actions []action, p *Published) ([]change, error) {
	changes, err := l.writeTables(ctx, v, lakeTables, actions, p)
	tagsKept := false
	if err == nil {
		tagsKept, err = l.catalog.commit(ctx, changes)
	}
	if err != nil {
		if !errors.As(err, new(*unknownResultError)) {
			l.files.removeUncommitted()
		}
		return nil, err
	}
	l.files.uncommitted.drain()
	p.TagsDropped = !tagsKept
	return changes, nil
}

// planExpiry adds the nights to remove to the actions.
func (l *Lake) planExpiry(v *Version, lakeTables tables, states map[tableName]publishedState, actions []action) {
	own, statesAfter := l.ownTables(lakeTables), map[tableName]publishedState{}
	for n := range own {
		if state, ok := states[n]; ok {
			statesAfter[n] = state
		}
	}
	for _, a := range actions {
		statesAfter[a.source.name] = publishedState{run: v.Run}
	}
	nights := oldNights(own, statesAfter, l.cfg.KeepNights)
	for i, a := range actions {
		if own[a.source.name] != nil {
			actions[i].oldNights = nights
		}
	}
}

// unpublished returns the tables of a version that do not show it yet. A table whose folder contains a newer
// metadata file than the catalog does not show it to readers of the folder.
func unpublished(v *Version, lakeTables tables, states map[tableName]publishedState, metadataFiles map[tableName][]string) (todo []source) {
	for _, s := range v.sources {
		state := states[s.name]
		if state.run != v.Run || !state.onMain || hasNewerMetadata(lakeTables[s.name], metadataFiles[s.name]) {
			todo = append(todo, s)
		}
	}
	return todo
}

// checkOrder returns an error if the lake shows a later night, or another night of the same time.
func checkOrder(v *Version, shownState publishedState) error {
	if mayFollow(shownState.run, shownState.at, v.Run, v.At) {
		return nil
	}
	return fmt.Errorf("publish %s of %s: the lake shows %s of %s, which is not earlier; this night was not committed to the lake; "+
		"this error is normal after a rollback: wait for the next night, which updates the lake",
		v.Run, v.At.Format(time.RFC3339), shownState.run, shownState.at.Format(time.RFC3339))
}

// mayFollow reports whether a night may be published to a lake that shows another night: the lake is
// empty, both are the same night, or the night is later.
func mayFollow(shownRun string, shownAt time.Time, run string, at time.Time) bool {
	return shownRun == "" || shownRun == run || at.After(shownAt)
}

// checkHistory returns an error if the lake was published from another warehouse. A new warehouse must
// not replace the history of a lost warehouse, because the lake may have the only copy.
func checkHistory(v *Version, states map[tableName]publishedState) error {
	shownState := newestState(states)
	if shownState.run == "" || v.knownRuns[shownState.run] {
		return nil
	}
	var historyRows int64
	for n, s := range states {
		if n.part != current {
			historyRows += s.rows
		}
	}
	return fmt.Errorf("publish %s: the lake shows %s of %s from another warehouse, and a publish would replace its %d rows of history; this night was not committed to the lake: "+
		"restore that warehouse with \"placementsync rebuild --from\", set another lake.namespace, "+
		"or replace the history with \"placementsync lake publish --all --replace\"",
		v.Run, shownState.run, shownState.at.Format(time.RFC3339), historyRows)
}

// action is the planned publish of one table.
type action struct {
	source source
	// checksum is the checksum of all rows after the action.
	checksum string
	// file is the path of a Parquet file with the rows to write. If the path is "", no rows are written.
	file string
	rows int64
	// If replace is true, file replaces all files of the table. Without file, the table becomes empty.
	// If replace is false, file is added. Without file, the table only gets the tag.
	replace bool
	// oldNights are the nights whose tags are removed.
	oldNights []string
	// metadataFiles is change.metadataFiles.
	metadataFiles []string
}

// A table of the schema past or meta that has maxFiles files is rewritten as one file at its next change,
// because readers open every file, and each file has a manifest with a copy of the schema.
const maxFiles = 16

// planActions returns the actions for tables. It checks the published Parquet files with new rows, and
// writes the files for the schemas past and meta.
func (l *Lake) planActions(ctx context.Context, v *Version, todo []source, states map[tableName]publishedState) ([]action, error) {
	measures, err := v.measureTables(ctx, states)
	if err != nil {
		return nil, err
	}
	actions := make([]action, len(todo))
	for i, s := range todo {
		if s.name.part == current {
			actions[i], err = v.planCurrent(ctx, s, states[s.name])
		} else {
			actions[i], err = v.planRows(ctx, s, states[s.name], measures[s.name])
		}
		if err != nil {
			return nil, err
		}
	}
	return actions, nil
}

// planCurrent returns the action of a table of the schema main. It replaces the rows of the table if
// they are not the rows of the version.
func (v *Version) planCurrent(ctx context.Context, s source, state publishedState) (action, error) {
	a := action{source: s, rows: s.file.Rows, replace: true, checksum: "empty"}
	if a.rows == 0 {
		a.replace = state.checksum != a.checksum
		return a, nil
	}
	a.checksum = s.file.SHA256
	if state.checksum == a.checksum {
		return action{source: s, checksum: a.checksum}, nil
	}
	a.file = filepath.Join(v.Dir, s.file.File)
	const readData = true
	if problem := checksum.NewCache(ctx).Compare(a.file, s.file.FileSum, readData); problem != "" {
		return a, damagedErr(a.file, problem)
	}
	return a, nil
}

// planRows returns the action of a table of the schema past or meta. It adds the rows that the lake
// lacks. It replaces all rows if the lake has rows that differ from the version, as after a rollback or a
// rebuild, or if the table has maxFiles files.
func (v *Version) planRows(ctx context.Context, s source, state publishedState, m measure) (a action, err error) {
	a = action{source: s, checksum: m.checksum}
	condition := sqltext.SQL("true")
	switch {
	case state.checksum == m.checksum:
		return a, nil
	case state.checksum == m.inLakeChecksum && state.files < maxFiles:
		condition, a.rows = "NOT "+s.inLakeCondition(state), m.addedRows
	default:
		a.replace, a.rows = true, m.rows
	}
	if a.rows > 0 {
		a.file, err = v.writeFile(ctx, s, condition)
	}
	return a, err
}

func (l *Lake) writeTables(ctx context.Context, v *Version, lakeTables tables, actions []action, p *Published) ([]change, error) {
	// Tables are created one after the other, because some servers reject simultaneous requests.
	for _, a := range actions {
		if lakeTables[a.source.name] != nil {
			continue
		}
		t, err := l.catalog.newTable(ctx, a.source.name, a.source.def)
		if err != nil {
			return nil, fmt.Errorf("create %s: %w", a.source.name, err)
		}
		lakeTables[a.source.name] = t
	}
	changes := make([]change, len(actions))
	writtenBytes := make([]int64, len(actions)) // by action
	err := eachIndex(l.files.workers(), len(actions), func(i int) (err error) {
		name := actions[i].source.name
		if changes[i], writtenBytes[i], err = l.writeTable(ctx, v, lakeTables[name], actions[i]); err != nil {
			err = fmt.Errorf("write %s: %w", name, err)
		}
		return err
	})
	for i, a := range actions {
		p.Bytes += writtenBytes[i]
		switch {
		case a.replace:
			p.Replaced++
			p.Rows += a.rows
		case a.file != "":
			p.Appended++
			p.Rows += a.rows
		}
	}
	return changes, err
}
