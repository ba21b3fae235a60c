package enginetest_test

import (
	"bufio"
	"embed"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"placementsync/internal/testing/harness"
	"placementsync/internal/testing/pinned"
)

// scripts contains the scripts for the engines and the files with the pinned versions.
//
//go:embed engines
var scripts embed.FS

// folderVar is the environment variable with the folder for the engines. "make lake-test" sets it.
// The engines are kept after a test, because they are a download of two gigabytes.
const folderVar = "PLACEMENTSYNC_ENGINES"

// equipment is the folder of the engines, which contains the scripts, a Python environment and
// jars. python is the path of the Python interpreter.
type equipment struct{ dir, python string }

// equip installs the requirements of the scripts. It skips the test if folderVar is not set, if a
// program is missing, or if an installation fails.
func equip(t *testing.T, programs ...string) equipment {
	t.Helper()
	dir := os.Getenv(folderVar)
	if dir == "" {
		t.Skipf("takes an hour and downloads two gigabytes; run it with make lake-test or %s=<folder>", folderVar)
	}
	requirePrograms(t, append([]string{"python3"}, programs...)...)
	dir, err := filepath.Abs(dir)
	harness.Must(t, err)
	e := equipment{dir: dir, python: filepath.Join(dir, "venv", "bin", "python")}
	e.writeScripts(t)
	e.installPython(t)
	return e
}

// requirePrograms skips the test if a program is missing.
func requirePrograms(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("skipped: program %s is not in PATH", program)
		}
	}
}

func (e equipment) writeScripts(t *testing.T) {
	t.Helper()
	harness.Must(t, os.MkdirAll(e.dir, 0o755))
	names, err := fs.Glob(scripts, "engines/*.*")
	harness.Must(t, err)
	for _, name := range names {
		text, err := scripts.ReadFile(name)
		harness.Must(t, err)
		harness.Must(t, os.WriteFile(e.path(filepath.Base(name)), text, 0o644))
	}
}

// installPython creates the Python environment. An environment with the pinned versions is kept.
func (e equipment) installPython(t *testing.T) {
	t.Helper()
	pinsFile := e.path("requirements.txt")
	if isInstalled(t, pinsFile) {
		return
	}
	err := pinned.InstallPythonPackages(t.Context(), e.path("venv"), pinsFile)
	if errors.Is(err, pinned.ErrNotInstallable) {
		t.Skipf("skipped: %v", err)
	}
	harness.Must(t, err)
	markInstalled(t, pinsFile)
}

// installJars downloads the artifacts of jars.txt and of the REST catalog, and unpacks Trino. It
// returns the path of the Iceberg runtime for Spark.
func (e equipment) installJars(t *testing.T) string {
	t.Helper()
	for _, pinsFile := range []string{e.path("jars.txt"), e.path("rest_pom.xml")} {
		if isInstalled(t, pinsFile) {
			continue
		}
		if strings.HasSuffix(pinsFile, ".xml") {
			e.install(t, "mvn", "--quiet", "--batch-mode", "-f", pinsFile, "dependency:copy-dependencies", "-DoutputDirectory="+e.path("jars", "rest"))
		} else {
			for _, artifact := range readPins(t, pinsFile) {
				e.install(t, "mvn", "--quiet", "--batch-mode", "dependency:copy", "-Dartifact="+artifact, "-DoutputDirectory="+e.path("jars"))
			}
		}
		markInstalled(t, pinsFile)
	}
	if unpacked, _ := filepath.Glob(e.path("trino-server-*", "lib")); len(unpacked) == 0 {
		archives, err := filepath.Glob(e.path("jars", "trino-server-*.tar.gz"))
		harness.Must(t, err)
		e.install(t, "tar", "xzf", archives[0], "-C", e.path())
	}
	files, err := filepath.Glob(e.path("jars", "iceberg-spark-runtime-*.jar"))
	harness.Must(t, err)
	return files[0]
}

func readPins(t *testing.T, file string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	harness.Must(t, err)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// isInstalled reports whether the last installation used the same pinned versions.
func isInstalled(t *testing.T, pinsFile string) bool {
	t.Helper()
	want, err := os.ReadFile(pinsFile)
	harness.Must(t, err)
	have, err := os.ReadFile(pinsFile + ".installed")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil && string(have) == string(want)
}

func markInstalled(t *testing.T, pinsFile string) {
	t.Helper()
	text, err := os.ReadFile(pinsFile)
	harness.Must(t, err)
	harness.Must(t, os.WriteFile(pinsFile+".installed", text, 0o644))
}

// install runs a command of an installation. If the command fails, install skips the test.
func (e equipment) install(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Skipf("skipped: install with %s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

func (e equipment) path(names ...string) string {
	return filepath.Join(append([]string{e.dir}, names...)...)
}

// result is an output line of a script: the version of an engine, or the comparison of a query or table.
type result struct {
	Version     string   `json:"version"`
	What        string   `json:"what"` // the query or table
	Rows        int64    `json:"rows"`
	Seconds     float64  `json:"seconds"`
	Differences []string `json:"differences"`
}

// run runs a script with a job. It reports each difference as a test error, and logs the number of compared results.
func (e equipment) run(t *testing.T, script string, j job) {
	t.Helper()
	compared, rows, seconds := 0, int64(0), 0.0
	stderr := e.runScript(t, script, j.Scratch, j, func(r result) {
		if r.Version != "" {
			t.Logf("%s", r.Version)
			return
		}
		compared++
		rows += r.Rows
		seconds += r.Seconds
		for _, d := range r.Differences {
			t.Errorf("%s: %s", r.What, d)
		}
		if testing.Verbose() {
			t.Logf("%s: %d rows in %.2f s, %d differences", r.What, r.Rows, r.Seconds, len(r.Differences))
		}
	})
	if compared == 0 {
		t.Errorf("%s compared no results\n%s", script, stderr)
	}
	t.Logf("%s: %d results with %d rows compared, %.1f s in the engine", script, compared, rows, seconds)
}

// runScript runs a script with a job in a folder, calls use for each result, and returns the standard
// error of the script. It fails the test if the script fails.
func (e equipment) runScript(t *testing.T, script, dir string, job any, use func(result)) string {
	t.Helper()
	text, err := json.Marshal(job)
	harness.Must(t, err)
	file := filepath.Join(t.TempDir(), "job.json")
	harness.Must(t, os.WriteFile(file, text, 0o644))
	cmd := exec.CommandContext(t.Context(), e.python, e.path(script), file)
	cmd.Dir = dir // ClickHouse reads only files in its working directory.
	cmd.Env = append(os.Environ(), "SPARK_LOCAL_IP=127.0.0.1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	harness.Must(t, err)
	harness.Must(t, cmd.Start())
	readResults(t, out, use)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%s: %v\n%s", script, err, stderr.String())
	}
	return stderr.String()
}

func readResults(t *testing.T, out io.Reader, use func(result)) {
	t.Helper()
	const maxLineBytes = 1 << 20
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxLineBytes)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "{") {
			continue // Java writes lines that are not JSON.
		}
		var r result
		harness.Must(t, json.Unmarshal(lines.Bytes(), &r))
		use(r)
	}
	harness.Must(t, lines.Err())
}
