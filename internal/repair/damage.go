// Package repair checks a warehouse for damage, chooses the commands that repair it, and executes them, without
// requests to the service.
//
// A file of a warehouse has up to five copies: in a version, in the Parquet series, in the chain of files of changes,
// in the stored responses of a night, from which a replay builds it again, and in a backup. An inventory knows the intact
// copies (inventory.go) and the run of each day of the series (series.go). Check compares each expected file with its
// checksum (check.go, files.go), and Verify also the stored responses and the inbox (verify.go). plan.go chooses the
// repair of each damaged file. RestoreSeries carries out the same findings: first from copies (copies.go), then from the
// history of a catalog (restoreseries.go). Rebuild reads the series that the inventory found (rebuild.go). A replay is a
// run of package pipeline, which asks PrepareReplay.
//
// Package warehouse does not import this package: before a publish, package warehouse verifies the version itself.
package repair

import (
	"log/slog"
	"time"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Config configures a verify, a rebuild or a repair of the series.
type Config struct {
	Warehouse warehouse.Config
	Streams   []stream.Stream // with tables in the warehouse
	// AcceptLoss allows Rebuild to publish fewer snapshots, runs or rows than the current catalog contains.
	AcceptLoss bool
	// Progress, if not nil, is called when Rebuild has read the rows of a table, with the number of these tables and of
	// all tables that it reads. RestoreSeries calls it with the number of files that it has checked or written and the
	// approximate number of all these files.
	Progress func(done, total int64)
	Now      func() time.Time
	Log      *slog.Logger
}

// Damage is one damaged or missing file.
type Damage struct {
	// File is relative to the warehouse.
	File string `json:"file"`
	// Problem describes the damage. Affected is the affected data or the consequence for readers.
	Problem  string `json:"problem"`
	Affected string `json:"cost"`
	Repair   Step   `json:"repair"`
	// Lost means that some data cannot be restored from the files of the warehouse.
	Lost bool `json:"lost"`
	// Day is the day of the Parquet series that the file belongs to. Only ReadSeries sets it.
	Day string `json:"-"`
}

const affectedIndex = "the list of days; without this list, a missing day is not noticed"

func affectedTable(table, day string) string { return "table " + table + " of " + day }

func affectedMeta(run string) string { return "meta and closed rows of run " + run }

// dayProblem returns the problem of a day whose manifest cannot be read because of err.
func dayProblem(w *warehouse.Warehouse, day string, err error) string {
	if len(w.Series.DayFiles(day)) == 0 {
		return "all files of the day are missing"
	}
	return warehouse.ProblemOf(err)
}

// seriesDamage returns the damage of a file of the series, without a repair.
func seriesDamage(w *warehouse.Warehouse, path, problem, affected, day string) Damage {
	return Damage{File: w.Folder.Relative(path), Problem: problem, Affected: affected, Day: day}
}
