package warehouse

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"placementsync/internal/stream"
)

// Snapshot is one day of the Parquet series.
type Snapshot struct {
	// Run and At are those of the run that wrote the files.
	Run string
	At  time.Time
	// Files are paths by table.
	Files map[string]string
}

// Snapshots lists the days of the series, oldest first, with the run and time
// that the files name in their metadata.
func (d *Draft) Snapshots(ctx context.Context) ([]Snapshot, error) {
	byRun := map[string]Snapshot{}
	for _, t := range d.w.cfg.Tables {
		days, err := folders(d.w.path(seriesDir, t.Name))
		if err != nil {
			return nil, fmt.Errorf("list the series of %s: %w", t.Name, err)
		}
		for _, day := range days {
			file := d.w.path(seriesDir, t.Name, day, t.Name+".parquet")
			if _, err := os.Stat(file); err != nil {
				continue
			}
			if err := d.enlist(ctx, byRun, t.Name, file); err != nil {
				return nil, fmt.Errorf("read the metadata of %s: %w", file, err)
			}
		}
	}
	all := make([]Snapshot, 0, len(byRun))
	for _, s := range byRun {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Snapshot) int { return a.At.Compare(b.At) })
	return all, nil
}

func (d *Draft) enlist(ctx context.Context, byRun map[string]Snapshot, table, file string) error {
	var run, at string
	err := d.DB.QueryRowContext(ctx, `SELECT max(value::VARCHAR) FILTER (key = 'run_id'),
		max(value::VARCHAR) FILTER (key = 'snapshot_at') FROM parquet_kv_metadata(?)`, file).Scan(&run, &at)
	if err != nil {
		return err
	}
	s, ok := byRun[run]
	if !ok {
		when, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			return err
		}
		s = Snapshot{Run: run, At: when, Files: map[string]string{}}
	}
	s.Files[table] = file
	byRun[run] = s
	return nil
}

// Meta are the definitions of the tables of meta.
func (w *Warehouse) Meta() []stream.Definition { return w.meta }
