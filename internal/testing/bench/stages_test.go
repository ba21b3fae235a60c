package bench_test

import (
	"cmp"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// stage is a part of a night with its CPU time and wall time in seconds.
type stage struct {
	Name string  `json:"name"`
	CPU  float64 `json:"cpu_seconds"`
	Wall float64 `json:"wall_seconds,omitempty"`
}

// measureStages profiles a first night. Before the last response, stages run concurrently. They are
// distinguished by the functions in the samples of the CPU profile. After the last response, stages
// run one after the other.
func measureStages(t *testing.T, s settings) findings {
	t.Helper()
	service := serve(t, world{Listings: s.listings, CatalogOnly: true})
	defer service.stop(t)
	dir, remove := scratch(t)
	defer remove()
	task := nightTask{URL: service.url, Dir: dir, Profile: filepath.Join(dir, "cpu.pprof"), Report: filepath.Join(dir, "steps.json")}
	measure(t, childCommand(t, "night", task))
	var steps []timedStep
	readJSON(t, task.Report, &steps)
	stages := append(concurrentStages(t, task.Profile), sequentialStages(t, steps)...)
	slices.SortStableFunc(stages, func(a, b stage) int { return cmp.Compare(b.CPU, a.CPU) })
	return findings{Stages: stages}
}

// sequentialStages returns the stages that run alone: the beginning, and all stages after the last
// response.
func sequentialStages(t *testing.T, steps []timedStep) []stage {
	t.Helper()
	firstStep := steps[slices.IndexFunc(steps, func(s timedStep) bool { return s.Name == "rows staged" })]
	stages := []stage{{"begin: token, draft, stage", firstStep.CPU, firstStep.Wall}}
	for _, s := range []struct{ name, from, to string }{
		{"compare and merge", "stream staged", "merged"},
		{"notes and Parquet", "merged", "parquet written"},
		{"close the stage, count", "parquet written", "before checkpoint"},
		{"checkpoint, fsync, checksums of Parquet", "before checkpoint", "before verify"},
		{"verify, checksum of the catalog", "before verify", "before rename of the version"},
		{"switch and series", "before rename of the version", "ended"},
	} {
		from, to := lastStep(t, steps, s.from), lastStep(t, steps, s.to)
		stages = append(stages, stage{s.name, to.CPU - from.CPU, to.Wall - from.Wall})
	}
	return stages
}

// concurrentStages returns the stages before the last response. A sample counts for the first stage
// whose pattern matches a function of the sample.
func concurrentStages(t *testing.T, profile string) []stage {
	t.Helper()
	byFunction := []struct{ name, pattern string }{
		{"staging in DuckDB, on our threads", `load\.\(\*(Rows|Events|Details|Findings)\)\.`},
		{"decode", `internal/transform\.`},
		{"land (pack, checksum, journal)", `fetch\.\(\*Landing\)`},
		{"HTTP", `net/http\.|fetch\.\(\*Client\)`},
	}
	var stages []stage
	var earlier []string
	for _, s := range byFunction {
		args := []string{"-focus=" + s.pattern}
		if len(earlier) > 0 {
			args = append(args, "-ignore="+strings.Join(earlier, "|"))
		}
		stages = append(stages, stage{Name: s.name, CPU: cpuSeconds(t, profile, args...)})
		earlier = append(earlier, s.pattern)
	}
	stages = append(stages,
		stage{Name: "garbage collection", CPU: cpuSeconds(t, profile, `-focus=runtime\.gcBgMarkWorker|runtime\.bgsweep|runtime\.bgscavenge`)},
		stage{Name: "DuckDB, on its own threads, all night", CPU: cpuSeconds(t, profile, `-focus=runtime\._ExternalCode`)})
	return stages
}

// cpuSeconds sums the CPU seconds of the samples that match a filter of pprof.
func cpuSeconds(t *testing.T, profile string, filter ...string) float64 {
	t.Helper()
	args := slices.Concat([]string{"tool", "pprof", "-top", "-unit=ms", "-symbolize=none", "-nodefraction=0", "-nodecount=100000"}, filter, []string{profile})
	out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	total := regexp.MustCompile(`accounting for ([0-9.]+)(?:ms)?,`).FindSubmatch(out)
	if total == nil {
		t.Fatalf("the output of pprof contains no total: %.200q", out)
	}
	ms, err := strconv.ParseFloat(string(total[1]), 64)
	must(t, err)
	return ms / 1000
}
