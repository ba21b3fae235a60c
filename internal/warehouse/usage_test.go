package warehouse_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// usageOf measures a warehouse. It returns the sizes of the parts by name, and the sum of the sizes.
func usageOf(t *testing.T, w *warehouse.Warehouse, extra ...warehouse.MeasuredFolder) (parts map[string]int64, sum int64) {
	t.Helper()
	all, err := w.Folder.Measure(t.Context(), extra...)
	harness.Must(t, err)
	parts = map[string]int64{}
	for _, u := range all {
		parts[u.Part] = u.Bytes
		sum += u.Bytes
	}
	return parts, sum
}

// TestThePartsAddUpToTheResultOfDu measures a warehouse with hard links, with a file that belongs to
// no part, and with the folder of a lake.
func TestThePartsAddUpToTheResultOfDu(t *testing.T) {
	t.Parallel()
	w := openNights(t, 2, "a", "b")
	dir := w.Folder.Dir()
	write := func(size int, name ...string) {
		t.Helper()
		path := filepath.Join(append([]string{dir}, name...)...)
		harness.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		harness.Must(t, os.WriteFile(path, make([]byte, size), 0o600))
	}
	write(100_000, "raw", "20261101T020000Z", "000.raw")
	write(200_000, "state", "inbox", "1.log")
	write(300_000, "report.html")
	write(400_000, "lake", "data", "1.parquet")
	write(500_000, "parquet", "1.parquet")
	harness.Must(t, os.Link(filepath.Join(dir, "parquet", "1.parquet"), filepath.Join(dir, "versions", "1.parquet")))
	harness.Must(t, os.Link(filepath.Join(dir, "state", "inbox", "1.log"), filepath.Join(dir, "raw", "20261101T020000Z", "1.log")))
	lake := warehouse.MeasuredFolder{Part: "lake", Dir: filepath.Join(dir, "lake")}
	parts, sum := usageOf(t, w, lake)
	for part, least := range map[string]int64{"lake": 400_000, "parquet": 500_000, "versions": 100_000, "inbox": 200_000, "raw": 100_000, "state": 1, "other": 300_000} {
		if parts[part] < least {
			t.Errorf("%s takes %d bytes, want at least %d: %v", part, parts[part], least, parts)
		}
	}
	if parts["raw"] >= 300_000 || parts["other"] >= 700_000 {
		t.Errorf("the parts are %v, want less than 300000 bytes for raw and 700000 for other, because each file counts once", parts)
	}
	throughLink := filepath.Join(t.TempDir(), "link")
	harness.Must(t, os.Symlink(dir, throughLink))
	lake.Dir = filepath.Join(throughLink, "lake")
	if got, _ := usageOf(t, openWith(t, warehouse.Config{Dir: throughLink}), lake); !maps.Equal(got, parts) {
		t.Errorf("through a symbolic link the parts are %v, want %v", got, parts)
	}
	du, err := exec.LookPath("du")
	if err != nil {
		t.Skip("du is not installed")
	}
	out, err := exec.CommandContext(t.Context(), du, "-s", "-B1", dir).Output()
	harness.Must(t, err)
	if want := strings.Fields(string(out))[0]; want != strconv.FormatInt(sum, 10) {
		t.Errorf("the parts add up to %d, and du prints %s: %v", sum, want, parts)
	}
}

// actingContext calls act at a call of Err.
type actingContext struct {
	context.Context
	left int // calls before it
	act  func()
}

func (c *actingContext) Err() error {
	if c.left == 0 {
		c.act()
	}
	c.left--
	return c.Context.Err()
}

// TestFilesMayVanishDuringAMeasurement removes stored responses at each step of a measurement, as a night does.
func TestFilesMayVanishDuringAMeasurement(t *testing.T) {
	t.Parallel()
	w := openWith(t, warehouse.Config{})
	run := w.Folder.RawPath(firstNight)
	for n, isDone := 0, false; !isDone; n++ {
		harness.Must(t, os.MkdirAll(run, 0o700))
		for _, name := range []string{"000001.bodies", "journal.jsonl"} {
			harness.Must(t, os.WriteFile(filepath.Join(run, name), nil, 0o600))
		}
		ctx := &actingContext{t.Context(), n, func() { harness.Must(t, os.RemoveAll(run)) }}
		if _, err := w.Folder.Measure(ctx); err != nil {
			t.Errorf("files were removed at step %d: got %v, want no error", n, err)
		}
		isDone = ctx.left >= 0
	}
}

// TestAFailedMeasurementIsAnError measures with a cancelled context, and measures a missing warehouse.
// A missing folder of another part, such as a lake, is no error.
func TestAFailedMeasurementIsAnError(t *testing.T) {
	t.Parallel()
	w := open(t)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if all, err := w.Folder.Measure(cancelled); !errors.Is(err, context.Canceled) || all != nil {
		t.Errorf("Measure returned %v (%v), want context.Canceled", all, err)
	}
	lake := warehouse.MeasuredFolder{Part: "lake", Dir: filepath.Join(t.TempDir(), "away")}
	if parts, _ := usageOf(t, w, lake); len(parts) != 6 {
		t.Errorf("Measure returned %v, want the six parts without the missing lake", parts)
	}
	harness.Must(t, os.RemoveAll(w.Folder.Dir()))
	if all, err := w.Folder.Measure(t.Context()); !errors.Is(err, fs.ErrNotExist) || all != nil {
		t.Errorf("Measure of a missing warehouse returned %v (%v), want ErrNotExist", all, err)
	}
}

func TestReadLatestDistinguishesNoVersionFromALostLink(t *testing.T) {
	t.Parallel()
	w := open(t)
	if _, ok, err := w.Versions.ReadLatest(); ok || err != nil {
		t.Errorf("before the first publish: got %t, %v, want false and no error", ok, err)
	}
	if n, err := w.Versions.NextNightBytes(); n != 0 || err != nil {
		t.Errorf("before the first publish a night needs %d bytes (%v), want 0", n, err)
	}
	publish(t, w, "20261101T020000Z", "a")
	m, ok, err := w.Versions.ReadLatest()
	if err != nil || !ok || m.RunID != "20261101T020000Z" || len(m.Tables) != 1 || m.Tables[0].Rows != 1 {
		t.Errorf("got %+v, %t, %v, want version 20261101T020000Z with one row", m, ok, err)
	}
	var size int64
	files := harness.MustValue(os.ReadDir(w.Folder.VersionPath(m.RunID)))
	for _, f := range files {
		info, err := f.Info()
		harness.Must(t, err)
		size += info.Size()
	}
	if n, err := w.Versions.NextNightBytes(); n != 2*size || err != nil {
		t.Errorf("a night needs %d bytes (%v), want %d", n, err, 2*size)
	}
	harness.Must(t, os.RemoveAll(w.Folder.VersionPath(m.RunID)))
	if n, err := w.Versions.NextNightBytes(); n != 0 || err != nil {
		t.Errorf("without the visible version a night needs %d bytes (%v), want 0: another check reports the version", n, err)
	}
	harness.Must(t, os.Mkdir(w.Folder.VersionPath(m.RunID), 0o700))
	var damaged *warehouse.DamagedError
	harness.Must(t, os.Remove(filepath.Join(w.Folder.Dir(), "latest")))
	if _, ok, err := w.Versions.ReadLatest(); ok || !errors.As(err, &damaged) {
		t.Errorf("without the link: got %t, %v, want false and a DamagedError", ok, err)
	}
}
