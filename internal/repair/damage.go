// Package repair compares the files of a warehouse with the checksums in its manifests,
// chooses the commands that repair damage, and repairs files from intact copies.
//
// The package must not know where rows come from, or how a night or a rebuild runs. Package warehouse
// does not import this package: before a publish, package warehouse verifies the version itself.
package repair

import "placementsync/internal/warehouse"

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
	// Unfinished means that this warehouse is a copy that was made while a run was writing the day.
	// Then no published data is lost.
	Unfinished bool `json:"-"`
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
