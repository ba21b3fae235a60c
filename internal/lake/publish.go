package lake

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/sqltext"
)

// Published describes a published night.
type Published struct {
	Run        string    `json:"run_id"`
	SnapshotAt time.Time `json:"snapshot_at"`
	// Already is true if the lake already showed the night.
	Already bool `json:"already_published"`
	// Tables counts the tables of the night. Replaced and Appended count the tables whose
	// files were replaced or extended. The others only got the new tag.
	Tables   int   `json:"tables"`
	Replaced int   `json:"replaced"`
	Appended int   `json:"appended"`
	Rows     int64 `json:"rows_written"`
	Bytes    int64 `json:"bytes_written"`
	// TagsDropped is true if the catalog does not keep tags. Readers then cannot select a
	// night by its name.
	TagsDropped bool    `json:"tags_dropped"`
	Seconds     float64 `json:"seconds"`
}

// UnknownError means that the result of a commit is not known.
type UnknownError struct{ Err error }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("commit to the lake: %v; the commit was applied as a whole or not at all: publish again, which checks it", e.Err)
}

func (e *UnknownError) Unwrap() error { return e.Err }

// Publish commits all tables of a version in one step. It does nothing if the lake already
// shows the night, and returns an error if the lake shows a later night. With replace it replaces the
// history of another warehouse.
func (l *Lake) Publish(ctx context.Context, v *Version, replace bool) (p Published, err error) {
	begun := l.cfg.Now()
	p = Published{Run: v.Run, SnapshotAt: v.At, Tables: len(v.sources)}
	defer func() { p.Seconds = l.cfg.Now().Sub(begun).Seconds() }()
	have, all, err := l.loadStates(ctx)
	if err == nil {
		_, err = l.checkOwner(have)
	}
	if err != nil {
		return p, err
	}
	if err := checkOrder(v, newest(all)); err != nil {
		return p, err
	}
	if !replace {
		if err := checkHistory(v, all); err != nil {
			return p, err
		}
	}
	todo, err := l.plan(ctx, v, all)
	if err != nil {
		return p, err
	}
	if p.Already = len(todo) == 0; p.Already {
		return p, l.markOwner()
	}
	changes, err := l.stageAll(ctx, v, have, todo, &p)
	keepsTags := false
	if err == nil {
		keepsTags, err = l.catalog.commit(ctx, changes)
	}
	if err != nil {
		if !errors.As(err, new(*UnknownError)) && !errors.As(err, new(*NotCommittedError)) {
			l.files.removeMade()
		}
		return p, err
	}
	l.files.made.drain()
	p.TagsDropped = !keepsTags
	return p, l.markOwner()
}

// checkOrder returns an error if the lake shows a later night, or another night of the same time.
func checkOrder(v *Version, last publishedState) error {
	if !isNotLater(v.Run, v.At, last.run, last.at) {
		return nil
	}
	return fmt.Errorf("publish %s of %s: the lake shows %s of %s, which is not earlier; nothing was changed: "+
		"wait for the next night, which replaces that night in the lake; this is also normal after a rollback",
		v.Run, v.At.Format(time.RFC3339), last.run, last.at.Format(time.RFC3339))
}

// isNotLater reports whether a night differs from the night of the lake and is not later.
func isNotLater(run string, at time.Time, shownRun string, shownAt time.Time) bool {
	return shownRun != "" && shownRun != run && !shownAt.Before(at)
}

// checkHistory returns an error if the lake was published from another warehouse. A new warehouse must
// not replace the history of a lost warehouse, because the lake may have the only copy.
func checkHistory(v *Version, all map[tableName]publishedState) error {
	last := newest(all)
	if last.run == "" || v.known[last.run] {
		return nil
	}
	var rows int64 // of history
	for n, s := range all {
		if n.part != current {
			rows += s.rows
		}
	}
	return fmt.Errorf("publish %s: the lake shows %s of %s, which this warehouse does not know; nothing was changed: "+
		"this warehouse would replace the %d rows of history in the lake: restore the warehouse with \"placementsync rebuild\", "+
		"set another lake.namespace, or replace the history with \"placementsync lake publish --replace\"",
		v.Run, last.run, last.at.Format(time.RFC3339), rows)
}

// action is the change of one table by a night.
type action struct {
	source source
	// content is the checksum of all rows after the action.
	content string
	// file contains rows to write. If it is empty, no rows are written.
	file string
	rows int64
	// replace means that file replaces all files of the table. Otherwise file is added. Without
	// file and replace, the table only gets the tag.
	replace bool
}

// maxFiles is the number of files at which the next change of a table of the schema past or meta
// rewrites the table as one file, because readers open every file.
const maxFiles = 64

// plan returns the actions for the tables that do not show the night yet. It checks every file that may
// be published, and writes the files for the schemas past and meta.
func (l *Lake) plan(ctx context.Context, v *Version, all map[tableName]publishedState) ([]action, error) {
	var todo []source
	for _, s := range v.sources {
		if last := all[s.name]; last.run != v.Run || !last.onMain {
			todo = append(todo, s)
		}
	}
	if len(todo) == 0 {
		return nil, nil
	}
	measured, err := v.measureTables(ctx, all)
	if err != nil {
		return nil, err
	}
	plan := make([]action, len(todo))
	for i, s := range todo {
		if s.name.part == current {
			plan[i], err = v.planCurrent(ctx, s, all[s.name])
		} else {
			plan[i], err = v.planRows(ctx, s, all[s.name], measured[s.name])
		}
		if err != nil {
			return nil, err
		}
	}
	return plan, nil
}

// planCurrent returns the action of a table of the schema main. It replaces the table if its published
// file differs from the file in the lake.
func (v *Version) planCurrent(ctx context.Context, s source, last publishedState) (action, error) {
	a := action{source: s, rows: s.file.Rows, replace: true, content: "empty"}
	if a.rows == 0 {
		a.replace = last.content != a.content
		return a, nil
	}
	a.content = s.file.SHA256
	if last.content == a.content {
		return action{source: s, content: a.content}, nil
	}
	a.file = filepath.Join(v.Dir, s.file.File)
	if problem := checksum.NewCache(ctx).Compare(a.file, s.file.FileSum, true); problem != "" {
		return a, damagedErr(a.file, problem)
	}
	if !last.withoutFooter {
		return a, nil
	}
	content, err := sumBeforeFooter(a.file)
	if err == nil && content == last.content {
		return action{source: s, content: a.content}, nil
	}
	return a, err
}

// sumBeforeFooter returns the checksum of a Parquet file without its footer. Release 1.0.0 recorded
// this checksum for the rows of a table, because each footer contained the id of the run.
func sumBeforeFooter(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	const tail = 8 // the length of the footer in four bytes, and PAR1
	end, err := f.Seek(-tail, io.SeekEnd)
	if err != nil {
		return "", err
	}
	var footer uint32
	if err := binary.Read(f, binary.LittleEndian, &footer); err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(h, io.NewSectionReader(f, 0, end-int64(footer)))
	return hex.EncodeToString(h.Sum(nil)), err
}

// planRows returns the action of a table of the schema past or meta. It adds the rows that the lake
// lacks. If the rows of the lake differ from the version, as after a rollback or a rebuild, it replaces
// all rows.
func (v *Version) planRows(ctx context.Context, s source, last publishedState, m measure) (a action, err error) {
	a = action{source: s, content: m.content}
	rows := sqltext.SQL("true")
	switch {
	case last.content == m.content:
		return a, nil
	case last.content == m.published && last.files < maxFiles:
		rows, a.rows = "NOT "+s.publishedRows(last), m.added
	default:
		a.replace, a.rows = true, m.rows
	}
	if a.rows > 0 {
		a.file, err = v.writeFile(ctx, s, rows)
	}
	return a, err
}

// stageAll writes the files of all tables and returns the changes to commit.
func (l *Lake) stageAll(ctx context.Context, v *Version, have tables, plan []action, p *Published) ([]change, error) {
	// Tables are created one after the other, because some servers reject simultaneous requests.
	for _, a := range plan {
		if have[a.source.name] != nil {
			continue
		}
		t, err := l.catalog.newTable(ctx, a.source.name, a.source.design)
		if err != nil {
			return nil, fmt.Errorf("create %s: %w", a.source.name, err)
		}
		have[a.source.name] = t
	}
	changes := make([]change, len(plan))
	var mu sync.Mutex // guards p
	err := eachIndex(l.files.workers(), len(plan), func(i int) error {
		a := plan[i]
		c, bytes, err := l.stage(ctx, v, have[a.source.name], a)
		if err != nil {
			return fmt.Errorf("write %s: %w", a.source.name, err)
		}
		c.updates = append(c.updates, l.nameOwner(c.name))
		changes[i] = c
		mu.Lock()
		defer mu.Unlock()
		p.Bytes += bytes
		switch {
		case a.replace:
			p.Replaced++
			p.Rows += a.rows
		case a.file != "":
			p.Appended++
			p.Rows += a.rows
		}
		return nil
	})
	return changes, err
}
