// Package load writes Arrow record batches into a draft of the warehouse. It inserts them
// into staging tables, checks the limits on deletions, merges the staged rows into main and past, and
// writes Parquet files. Its SQL is in the folder sql, in the order of first use.
//
// A row reaches main in one of two ways. Most rows are staged (rows.go, inserter.go)
// and merged (merge.go). A large list fills empty tables of main directly (rows.go). The rows of
// unchanged records remain in main and are not staged (unchanged.go).
//
// The stage is a DuckDB file of its own, because staging would leave free blocks in the catalog. Arrow
// batches are read by "INSERT INTO t SELECT * FROM view": a projection or a filter on such a view is not safe.
// While records are read, a statement has one thread: a second one would leave a partial row group, which
// makes the next checkpoint slow. After the last response, all cores are used.
//
// The merge compares keys and fingerprints, and no other column. NULLs and untracked columns are not part of a
// fingerprint, so a new column changes no row. The computation of a fingerprint must never change; DuckDB's hash()
// is not promised to be stable. Items keep their positions, which key child rows: staged positions are
// replaced before the plan and the merge, so that counts, gates and plan see no false change.
//
// Parquet files are not sorted: the key is a UUID, so readers could not skip parts of a sorted file. An
// unchanged table keeps its Parquet file, as a compared copy and not as a link, because repairs need an
// independent copy.
//
// The package must not know how records are fetched or decoded. It knows only the staged rows
// of a stream, and whether the absence of a row proves its deletion.
package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// stageFile contains the staged rows during a night. It is a separate file in the draft's folder,
// because staged rows, which are deleted after the merge, would leave unused blocks in the catalog.
const stageFile = "stage.duckdb"

// Stage contains the rows of a night until they are merged. Rows are added from many goroutines.
type Stage struct {
	draft   *warehouse.Draft
	streams []stream.Stream
	direct  nameSet // tables of main that are filled directly
	// withStoredRows contains the lists to whose staged rows the stored rows of unchanged records were added.
	withStoredRows nameSet
	shared         *inserter                      // for all tables without a feed
	replaced       map[string]int64               // the number of rows of main with other values and no new version, by table
	ignored        map[string]map[string][]string // paths of members by table and column; no path means the whole column

	mu    sync.Mutex // guards the fields below
	feeds map[streamTable]*feed
	// feedErr joins the errors of feeds. The rows of a failed feed are lost, so the stage cannot be
	// merged.
	feedErr       error
	directDecided map[string]bool    // the streams for which chooseDirect has decided
	stored        map[string]*Stored // the lists that are being read
}

// Open attaches a stage to a draft. If only ignored columns of a row differ, or signatures of URLs, the row gets
// the new values and no new version. ignored contains columns as table.column, and members of JSON columns as table.column.member.
func Open(ctx context.Context, d *warehouse.Draft, streams []stream.Stream, ignored []string) (*Stage, error) {
	s := &Stage{
		draft: d, streams: streams, feeds: map[streamTable]*feed{}, directDecided: map[string]bool{}, stored: map[string]*Stored{},
		replaced: map[string]int64{}, ignored: map[string]map[string][]string{},
	}
	for _, name := range ignored {
		table, path, _ := strings.Cut(name, ".")
		column, member, isMember := strings.Cut(path, ".")
		if s.ignored[table] == nil {
			s.ignored[table] = map[string][]string{}
		}
		paths, isNamed := s.ignored[table][column]
		isWhole := isNamed && len(paths) == 0
		if !isMember {
			s.ignored[table][column] = nil
		} else if !isWhole {
			s.ignored[table][column] = append(paths, member)
		}
	}
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("open the stage: %w", err)
	}
	return s, nil
}

func (s *Stage) open(ctx context.Context) (err error) {
	if err := s.createTables(ctx); err != nil {
		return err
	}
	if err := s.draft.LimitMemory(ctx, true); err != nil {
		return err
	}
	// Several tables are still filled at the same time, because each statement also runs on the thread of
	// its caller. With two threads, a first night would take 50 % more CPU time.
	if err := setThreads(ctx, s.draft, 1); err != nil {
		return err
	}
	s.shared, err = newInserter(ctx, s.draft, "batch", stageName)
	return err
}

func (s *Stage) createTables(ctx context.Context) error {
	path := filepath.Join(s.draft.Dir, stageFile)
	if err := s.draft.Exec(ctx, stageSQL.Render("attach", values{"file": path})); err != nil {
		return err
	}
	statements := []sqlText{createSchemaSQL(desiredSchema), createSchemaSQL(changedKeysSchema), stageSQL.Render("create_findings", nil)}
	for _, st := range s.streams {
		statements = append(statements, createSchemaSQL(st.Name))
		if st.IsDetail() {
			statements = append(statements, stageSQL.Render("create_details", values{"requested": requestedTable(st.Name), "plan": planTable(st.Name)}))
		}
		if s.canSkip(st) {
			statements = append(statements, stageSQL.Render("create_table", values{
				"table": stagedTable(st.Name, listedName), "columns": sqlText("row_id BIGINT, is_unchanged BOOLEAN"),
			}))
		}
		for _, t := range tablesOf(st) {
			columns := sqltext.Join(s.draft.Schema.Definitions[t.Name].Columns, ", ", func(c stream.Column) sqlText {
				if c.Type == stream.JSON { // JSON is staged as text, and the merge converts it
					c.Type = stream.Text
				}
				return sqlText(sqltext.Quote(c.Name) + " " + string(c.Type))
			})
			statements = append(statements, stageSQL.Render("create_table", values{"table": stagedTable(st.Name, t.Name),
				"columns": columns + ", " + stream.RowHash + " UBIGINT, " + stream.Seq + " UBIGINT"}))
		}
	}
	return s.draft.Atomically(ctx, statements)
}

func createSchemaSQL(name string) sqlText {
	return stageSQL.Render("create_schema", values{"schema": sqlText(stageName + "." + sqltext.Quote(name))})
}

// Close closes the stage and removes its file. The draft stays open.
func (s *Stage) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.closeFeeds(allStreams) // flush or insert has reported the error
	err := s.shared.conn.Close()
	if s.draft.Instance != nil {
		err = errors.Join(err, s.draft.Exec(ctx, stageSQL.Render("detach", values{"catalog": sqltext.Name(stageName)})))
	}
	path := filepath.Join(s.draft.Dir, stageFile)
	return errors.Join(err, os.RemoveAll(path), os.RemoveAll(path+".wal"))
}

func setThreads(ctx context.Context, d *warehouse.Draft, threads int) error {
	return d.Exec(ctx, stageSQL.Render("set_threads", values{"threads": threads}))
}
