//go:build linux

package pipeline_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/pipeline"
	"placementsync/internal/warehouse"
)

// disk is a small file system of its own, with ballast that takes its room.
type disk struct{ dir string }

// smallDisk mounts one of 160 MiB and 4,000 names, which only root may.
func smallDisk(t *testing.T) disk {
	t.Helper()
	d := disk{t.TempDir()}
	err := syscall.Mount("tmpfs", d.dir, "tmpfs", 0, "size=160m,nr_inodes=4000,mode=0755")
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	must(t, err)
	t.Cleanup(func() { must(t, syscall.Unmount(d.dir, 0)) })
	must(t, os.Mkdir(d.ballast(), 0o755))
	return d
}

func (d disk) warehouse() string { return filepath.Join(d.dir, "warehouse") }

func (d disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// fill leaves so many KiB free, also when others write meanwhile.
func (d disk) fill(leave int64) error {
	f, err := os.Create(filepath.Join(d.ballast(), "bytes"))
	if err != nil {
		return err
	}
	for err = syscall.ENOSPC; errors.Is(err, syscall.ENOSPC); {
		var fs syscall.Statfs_t
		if err = syscall.Statfs(d.dir, &fs); err == nil {
			err = syscall.Fallocate(int(f.Fd()), 0, 0, max(1, int64(fs.Bavail)*fs.Bsize-leave<<10))
		}
		if fs.Bavail == 0 {
			err = nil
		}
	}
	return errors.Join(err, f.Close())
}

// choke leaves neither bytes nor names free.
func (d disk) choke() error {
	if err := d.fill(0); err != nil {
		return err
	}
	for n := 0; ; n++ {
		f, err := os.Create(filepath.Join(d.ballast(), strconv.Itoa(n)))
		if errors.Is(err, syscall.ENOSPC) {
			return nil
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}

// free throws the ballast off.
func (d disk) free() error {
	return errors.Join(os.RemoveAll(d.ballast()), os.Mkdir(d.ballast(), 0o755))
}

// TestFullDisk tries a night with less room than it needs. Wherever it runs
// out the night says so and ends with 1, and the last snapshot stays as it was.
// Once there is room the next run takes the night up.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	d := smallDisk(t)
	c := newTrial(t, 6, some()...)
	c.dir = d.warehouse()
	c.publishInPeace(t)
	c.begin(t)
	last := requireIntact(t, c.dir)
	info, err := os.Stat(filepath.Join(c.dir, "catalog.duckdb"))
	must(t, err)
	catalog := info.Size() >> 10
	for name, leave := range map[string]int64{
		"nothing":                               0,
		"an answer":                             16,
		"half of the catalog's copy":            catalog / 2,
		"the copy":                              catalog + 32,
		"the copy and some staged rows":         catalog + 128,
		"the copy and all rows, no other files": catalog + 256,
	} {
		t.Run("room for "+name, func(t *testing.T) {
			must(t, d.fill(leave))
			res, err := pipeline.Run(t.Context(), c.job(struck, c.dir).config())
			must(t, d.free())
			requireNoRoom(t, res, err)
			if now := requireIntact(t, c.dir); now != last {
				t.Errorf("%s is published over %s", now, last)
			}
		})
	}
	c.publishInPeace(t)
	requireTidy(t, c.dir)
}

// TestDiskFullFromAStepOn takes all room away at each step of a night. Either
// the night publishes and ends with 0, or it says why not and ends with 1.
func TestDiskFullFromAStepOn(t *testing.T) {
	t.Parallel()
	d := smallDisk(t)
	c := newTrial(t, 7, some()...)
	c.dir = d.warehouse()
	c.publishInPeace(t)
	for _, s := range strikes() {
		t.Run(s.String()+" "+s.After, func(t *testing.T) {
			if c.night == "" {
				c.begin(t)
			}
			j := c.job(struck, c.dir)
			cfg := j.config()
			var choked error
			cfg.Warehouse.Step = s.hook(func() { choked = d.choke() })
			res, err := pipeline.Run(t.Context(), cfg)
			must(t, errors.Join(choked, d.free()))
			if requireIntact(t, c.dir) != c.night {
				requireNoRoom(t, res, err)
				return
			}
			c.night = ""
			if err != nil || res.Run.Outcome != warehouse.Complete {
				t.Errorf("the night is published and ended %s: %v", res.Run.Outcome, err)
			}
		})
	}
	c.finish(t)
}

func requireNoRoom(t *testing.T, res pipeline.Result, err error) {
	t.Helper()
	if code := pipeline.ExitCode(t.Context(), res.Run.Outcome, err); code != 1 || res.Run.Outcome != warehouse.Failed {
		t.Errorf("the night ended %s with %d, want %s with 1: %v", res.Run.Outcome, code, warehouse.Failed, err)
	}
	if err == nil || !strings.Contains(strings.ToLower(err.Error()), "no space left on device") {
		t.Errorf("the error does not name the reason: %v", err)
	}
}

// TestDiskFullForAMoment has no room while one list is read. Its answers could
// not land, so the night ends: a list whose rows are carried over a full disk
// would pass for a service that failed.
func TestDiskFullForAMoment(t *testing.T) {
	t.Parallel()
	d := smallDisk(t)
	world := smallWorld()
	world.Listings = 200
	h := newHouse(t, world, few()...)
	h.cfg.Warehouse.Dir, h.cfg.ResumeMaxAge = d.warehouse(), time.Hour
	h.goodNight()
	var full, free sync.Once
	var filled, freed error
	h.arrive = func(r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/products"):
			full.Do(func() { filled = d.fill(0) })
		case strings.HasPrefix(r.URL.Path, "/orders"):
			free.Do(func() { freed = d.free() })
		}
	}
	res, err := h.night()
	requireNoRoom(t, res, err)
	if _, ok := errors.AsType[*fetch.LandingError](err); !ok {
		t.Errorf("got %v, want a LandingError", err)
	}
	h.arrive = nil
	must(t, errors.Join(filled, freed, d.free()))
	h.at = h.at.Add(time.Minute)
	again, err := pipeline.Run(t.Context(), h.cfg)
	if h.complete(again, err).Run.ID != res.Run.ID {
		t.Errorf("run %s was not taken up, but %s begun", res.Run.ID, again.Run.ID)
	}
}
