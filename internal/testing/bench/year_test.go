package bench_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
)

// day is a night of the year.
type day struct {
	Day int `json:"day"`
	// Merge is the time in seconds from the last staged stream to the merged draft. Publish
	// is the time from then to the switch.
	Merge   float64 `json:"merge_seconds"`
	Publish float64 `json:"publish_seconds"`
	// Catalog is the size of the DuckDB file in bytes.
	Catalog float64 `json:"catalog_bytes"`
	Closed  int64   `json:"closed_rows"`
}

// year is a warehouse over many nights.
type year struct {
	Listings, Days int
	Dir, Report    string
}

// TestYearChild runs the nights of a year. The pipeline and the demo service run in one process,
// with one night per simulated day. Landed responses and the series are removed as by retention.
func TestYearChild(t *testing.T) {
	var y year
	readTask(t, &y)
	service := sim.New(world{Listings: y.Listings, Catalog: true}.options())
	url, stop, err := service.Serve(t.Context(), "")
	must(t, err)
	in := nightTask{URL: url, Dir: y.Dir}
	days, begun := make([]day, y.Days), time.Now()
	for i := range days {
		days[i] = y.night(t, in, i+1, service.Now)
		if (i+1)%25 == 0 {
			fmt.Fprintf(os.Stderr, "night %d of %d after %.0f s\n", i+1, len(days), time.Since(begun).Seconds())
		}
		service.Advance(1)
	}
	must(t, stop())
	writeReport(t, y.Report, days)
}

func (y year) night(t *testing.T, in nightTask, number int, now func() time.Time) day {
	t.Helper()
	r := newRecorder()
	res, err := pipeline.Run(t.Context(), in.config(now, r.step))
	must(t, err)
	d := day{Day: number, Merge: lastStep(t, r.steps, "merged").Wall - lastStep(t, r.steps, "stream staged").Wall,
		Publish: lastStep(t, r.steps, "after rename latest").Wall - lastStep(t, r.steps, "merged").Wall,
		Closed:  res.Run.Changed + res.Run.Gone}
	folder := filepath.Join(y.Dir, "warehouse")
	d.Catalog = bytesIn(t, filepath.Join(folder, "latest", "catalog.duckdb"))
	must(t, os.RemoveAll(filepath.Join(folder, "raw")))
	must(t, os.RemoveAll(filepath.Join(folder, "parquet")))
	return d
}

// medianReach is the number of nights on each side that the running median includes. The time of
// a single night depends more on the machine than on the warehouse.
const medianReach = 4

func valuesNear(days []day, number int, of func(day) float64) float64 {
	from, to := max(1, number-medianReach), min(len(days), number+medianReach)
	return figure{Runs: valuesOf(days[from-1:to], of)}.median()
}

func measureYear(t *testing.T, s settings) findings {
	t.Helper()
	dir, remove := scratch(t)
	defer remove()
	y := year{Listings: s.listings, Days: s.days, Dir: dir, Report: filepath.Join(dir, "year.json")}
	child := childCommand(t, "TestYearChild", y)
	child.Stderr = os.Stderr // it prints its progress
	measure(t, child)
	var days []day
	collect(t, y.Report, &days)
	merge, publish := func(d day) float64 { return d.Merge }, func(d day) float64 { return d.Publish }
	size := func(d day) float64 { return d.Catalog / megabyte }
	const early = 10
	ratio := func(of func(day) float64) []float64 {
		return []float64{valuesNear(days, len(days), of) / valuesNear(days, early, of)}
	}
	return findings{
		Figures: []figure{
			{Name: "merge, last night of the year against the 10th", Unit: "x", Runs: ratio(merge)},
			{Name: "publish, last night of the year against the 10th", Unit: "x", Runs: ratio(publish)},
		},
		OtherFigures: []figure{
			{Name: "merge, 10th night", Unit: "s", Runs: []float64{valuesNear(days, early, merge)}},
			{Name: "merge, last night", Unit: "s", Runs: []float64{valuesNear(days, len(days), merge)}},
			{Name: "publish, 10th night", Unit: "s", Runs: []float64{valuesNear(days, early, publish)}},
			{Name: "publish, last night", Unit: "s", Runs: []float64{valuesNear(days, len(days), publish)}},
			{Name: "DuckDB file, 10th night", Unit: "MB", Runs: []float64{valuesNear(days, early, size)}},
			{Name: "DuckDB file, last night", Unit: "MB", Runs: []float64{valuesNear(days, len(days), size)}},
		},
		Days: days,
	}
}
