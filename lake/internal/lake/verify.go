package lake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/apache/iceberg-go/table"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// VerifyReport is the result of Verify.
type VerifyReport struct {
	Run    string `json:"run_id"`
	Tables int    `json:"tables"`
	Files  int    `json:"files"`
	Rows   int64  `json:"rows"`
	// Differences are the tables that differ from the version.
	Differences []Difference `json:"differences"`
	Seconds     float64      `json:"seconds"`
}

// Difference is a table that differs from the version.
type Difference struct {
	Table   string `json:"table"`
	Problem string `json:"problem"`
}

// Verify compares every table of a night in the lake with the local version: the number of rows, and a
// checksum of all values. Like other engines, DuckDB reads the files to which the metadata of the
// lake refer, and finds columns by their field ids.
func (l *Lake) Verify(ctx context.Context, v *Version) (report VerifyReport, err error) {
	startedAt := l.cfg.Now()
	report = VerifyReport{Run: v.Run, Differences: []Difference{}}
	lakeTables, states, err := l.loadStates(ctx)
	if err != nil {
		return report, err
	}
	isNewest := newestState(states).run == v.Run
	for _, s := range v.sources {
		rows, files, err := v.verifyTable(ctx, s, lakeTables[s.name], states[s.name], isNewest)
		if ctx.Err() != nil {
			return report, ctx.Err()
		}
		if err != nil {
			report.Differences = append(report.Differences, Difference{l.cfg.namespace(s.name.part) + "." + s.name.table, err.Error()})
		}
		report.Tables++
		report.Files += files
		report.Rows += rows
	}
	report.Seconds = l.cfg.Now().Sub(startedAt).Round(time.Millisecond).Seconds()
	return report, nil
}

// snapshotOf returns the snapshot of a night in a table. isNewest means that the night is the newest
// in the lake: its snapshot must then be the current snapshot.
func snapshotOf(run string, t *table.Table, state publishedState, isNewest bool) (*table.Snapshot, error) {
	if t == nil {
		return nil, errors.New("it is missing in the lake: run \"placementsync lake publish --all\"")
	}
	taggedSnapshot, currentSnapshot := t.SnapshotByName(tagOf(run)), t.CurrentSnapshot()
	if taggedSnapshot == nil && state.run == run {
		taggedSnapshot = currentSnapshot // this catalog does not store tags
	}
	if isNewest && !showsNight(run, state, currentSnapshot, taggedSnapshot) {
		return nil, fmt.Errorf("readers see snapshot %d, which is not this night: "+
			"run \"placementsync lake publish --all\" to show the night again", currentSnapshotID(t.Metadata()))
	}
	if taggedSnapshot == nil {
		return nil, fmt.Errorf("it has no tag %s: run \"placementsync lake publish --all\"", tagOf(run))
	}
	return taggedSnapshot, nil
}

// showsNight reports whether readers of a table see the snapshot of a night. Both snapshots may be nil.
func showsNight(run string, state publishedState, currentSnapshot, taggedSnapshot *table.Snapshot) bool {
	if state.run != run || !state.onMain {
		return false
	}
	if currentSnapshot == nil || taggedSnapshot == nil {
		return false
	}
	return currentSnapshot.SnapshotID == taggedSnapshot.SnapshotID
}

// verifyTable compares one table. It returns the row count and the file count of the table in the lake.
func (v *Version) verifyTable(ctx context.Context, s source, t *table.Table, state publishedState, isNewest bool) (rows int64, files int, err error) {
	snapshot, err := snapshotOf(v.Run, t, state, isNewest)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = os.RemoveAll(v.fetchedDir()) }() // also if a download fails
	paths, err := v.fetchFiles(ctx, t, snapshot.SnapshotID)
	if err != nil {
		return 0, 0, err
	}
	expected, err := v.sum(ctx, s, sqltext.Fill("version.{schema}.{table}", sqltext.Values{"schema": sqltext.Name(s.schema), "table": sqltext.Name(s.name.table)}), columnValues(s.presentColumns))
	if err != nil {
		return 0, len(paths), err
	}
	got := rowSum{0, "0"}
	if len(paths) > 0 {
		if got, err = v.sum(ctx, s, scanByFieldIDs(paths, s.presentColumns), columnNames(s.presentColumns)); err != nil {
			return 0, len(paths), err
		}
	}
	switch {
	case got.rows != expected.rows:
		return got.rows, len(paths), fmt.Errorf("it has %d rows and the version has %d", got.rows, expected.rows)
	case got.sum != expected.sum:
		return got.rows, len(paths), fmt.Errorf("it has %d rows, as many as the version, but other values", got.rows)
	}
	return got.rows, len(paths), nil
}

// rowSum is the number of rows, and a checksum that does not depend on the order of the rows.
type rowSum struct {
	rows int64
	sum  string
}

func (v *Version) sum(ctx context.Context, s source, from, values sqltext.SQL) (r rowSum, err error) {
	query := versionSQL.Render("sum_values", sqltext.Values{"names": columnNames(s.presentColumns), "values": values, "source": from})
	err = v.DB.QueryRowContext(ctx, string(query)).Scan(&r.rows, &r.sum)
	return r, err
}

// scanByFieldIDs returns SQL that reads Parquet files like an Iceberg table: it finds columns by
// field id, and reads a missing column as NULL.
func scanByFieldIDs(paths []string, columns []stream.Column) sqltext.SQL {
	fields := sqltext.Join(columns, ", ", func(c stream.Column) sqltext.SQL {
		fileType := c.Type
		switch {
		case c.Type == stream.JSON:
			fileType = stream.Text
		case c.Name == stream.RowHash:
			fileType = stream.Int64
		}
		return sqltext.Fill("{id}: {name: {column}, type: {type}, default_value: NULL}",
			sqltext.Values{"id": c.FieldID, "column": c.Name, "type": string(fileType)})
	})
	return versionSQL.Render("scan_by_field_ids", sqltext.Values{"files": paths, "fields": fields})
}

// fetchedDir is the folder of downloaded data files.
func (v *Version) fetchedDir() string { return filepath.Join(v.Scratch, "fetched") }

// fetchFiles returns the paths of a snapshot's data files. It downloads objects to v.fetchedDir().
func (v *Version) fetchFiles(ctx context.Context, t *table.Table, snapshotID int64) (paths []string, err error) {
	tasks, err := planFiles(ctx, t, snapshotID)
	if err != nil {
		return nil, err
	}
	fileIO, err := t.FS(ctx)
	if err != nil {
		return nil, err
	}
	store := fileIO.(*files)
	if err := os.MkdirAll(v.fetchedDir(), 0o700); err != nil {
		return nil, err
	}
	for i, task := range tasks {
		if len(task.DeleteFiles)+len(task.EqualityDeleteFiles)+len(task.DeletionVectorFiles) > 0 {
			return nil, errors.New("another program deleted rows")
		}
		path := localPath(task.File.FilePath())
		if !store.local {
			path = filepath.Join(v.fetchedDir(), fmt.Sprintf("%d.parquet", i))
			if err := fetch(store, task.File.FilePath(), path); err != nil {
				return nil, err
			}
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func fetch(lakeFiles *files, name, to string) error {
	r, err := lakeFiles.Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.Create(to)
	if err != nil {
		return err
	}
	defer w.Close()
	_, err = io.Copy(w, r)
	return err
}
