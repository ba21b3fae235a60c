package bench_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
)

// day contains the measurements of one night of the year. Day is 1 for the first night.
type day struct {
	Day int `json:"day"`
	// Merge is the time in seconds from the last staged stream until all rows are merged. Publish
	// is the time from then until the snapshot is visible.
	Merge   float64 `json:"merge_seconds"`
	Publish float64 `json:"publish_seconds"`
	// Catalog is the size of the DuckDB file in bytes.
	Catalog float64 `json:"catalog_bytes"`
	// Closed is the number of rows that were changed or removed.
	Closed int64 `json:"closed_rows"`
}

// yearTask runs many nights of one warehouse. Report is the file for the results.
type yearTask struct {
	Listings, Days int
	Dir, Report    string
}

// nightReport is the report of one night.
type nightReport struct {
	Steps   []timedStep
	Catalog int64 // size of the DuckDB file in bytes
	Closed  int64 // rows that were changed or removed
}

// run runs one night for each simulated day. The pipeline and the demo service run in one process.
// The report is a list of nightReport.
func (y yearTask) run(ctx context.Context) error {
	service := sim.New(world{Listings: y.Listings, CatalogOnly: true}.options())
	url, stop, err := service.Serve()
	if err != nil {
		return err
	}
	task := nightTask{URL: url, Dir: y.Dir}
	nights, startedAt := make([]nightReport, y.Days), time.Now()
	for i := range nights {
		if nights[i], err = y.night(ctx, task, service.Now); err != nil {
			return err
		}
		if (i+1)%25 == 0 {
			fmt.Fprintf(os.Stderr, "night %d of %d after %.0f s\n", i+1, len(nights), time.Since(startedAt).Seconds())
		}
		service.Advance(1)
	}
	return errors.Join(stop(), writeJSON(y.Report, nights))
}

// night runs one night. It then removes the stored responses and the Parquet files by day, which are
// not measured.
func (y yearTask) night(ctx context.Context, task nightTask, now func() time.Time) (nightReport, error) {
	r := newRecorder()
	res, err := pipeline.Run(ctx, task.config(now, r.step))
	if err != nil {
		return nightReport{}, err
	}
	folder := filepath.Join(y.Dir, "warehouse")
	catalog, err := os.Stat(filepath.Join(folder, "latest", "catalog.duckdb"))
	if err := errors.Join(err, os.RemoveAll(filepath.Join(folder, "raw")), os.RemoveAll(filepath.Join(folder, "parquet"))); err != nil {
		return nightReport{}, err
	}
	return nightReport{Steps: r.steps, Catalog: catalog.Size(), Closed: res.Run.Changed + res.Run.Gone}, nil
}

// The running median of a night includes medianReach nights before and after it.
// The time of a single night depends more on the machine than on the warehouse.
const medianReach = 4

func medianNear(days []day, dayNumber int, value func(day) float64) float64 {
	from, to := max(1, dayNumber-medianReach), min(len(days), dayNumber+medianReach)
	return figure{Runs: valuesOf(days[from-1:to], value)}.median()
}

// earlyDay is the night with which the last night of the year is compared.
const earlyDay = 10

func measureYear(t *testing.T, s settings) findings {
	t.Helper()
	dir, remove := scratch(t)
	defer remove()
	y := yearTask{Listings: s.listings, Days: s.days, Dir: dir, Report: filepath.Join(dir, "year.json")}
	cmd := childCommand(t, "year", y)
	cmd.Stderr = os.Stderr // the child prints its progress
	measure(t, cmd)
	var nights []nightReport
	readJSON(t, y.Report, &nights)
	var days []day
	for i, n := range nights {
		merged := lastStep(t, n.Steps, "merged").Wall
		days = append(days, day{Day: i + 1, Merge: merged - lastStep(t, n.Steps, "stream staged").Wall,
			Publish: lastStep(t, n.Steps, "after rename latest").Wall - merged, Catalog: float64(n.Catalog), Closed: n.Closed})
	}
	merge, publish := func(d day) float64 { return d.Merge }, func(d day) float64 { return d.Publish }
	size := func(d day) float64 { return d.Catalog / megabyte }
	ratio := func(value func(day) float64) []float64 {
		return []float64{medianNear(days, len(days), value) / medianNear(days, earlyDay, value)}
	}
	return findings{
		Figures: []figure{
			{Name: "merge, last night of the year against the 10th", Unit: "x", Runs: ratio(merge)},
			{Name: "publish, last night of the year against the 10th", Unit: "x", Runs: ratio(publish)},
		},
		OtherFigures: []figure{
			{Name: "merge, 10th night", Unit: "s", Runs: []float64{medianNear(days, earlyDay, merge)}},
			{Name: "merge, last night", Unit: "s", Runs: []float64{medianNear(days, len(days), merge)}},
			{Name: "publish, 10th night", Unit: "s", Runs: []float64{medianNear(days, earlyDay, publish)}},
			{Name: "publish, last night", Unit: "s", Runs: []float64{medianNear(days, len(days), publish)}},
			{Name: "DuckDB file, 10th night", Unit: "MB", Runs: []float64{medianNear(days, earlyDay, size)}},
			{Name: "DuckDB file, last night", Unit: "MB", Runs: []float64{medianNear(days, len(days), size)}},
		},
		Days: days,
	}
}
