package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// nightCache has copies of an undisturbed warehouse after each of its nights, so that each
// night runs once for all tests.
type nightCache struct {
	mu     sync.Mutex // guards nights
	dir    string
	nights int
}

// nightsOfAll is the cache of newFixture.
var nightsOfAll nightCache

// after returns the folder of the warehouse after a number of nights.
func (tr *nightCache) after(nights int) string {
	return filepath.Join(tr.dir, strconv.Itoa(nights), "warehouse")
}

// grow runs the missing nights.
func (tr *nightCache) grow(h *fixture, nights int) {
	h.Helper()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for ; tr.nights < nights; tr.nights++ {
		next := openFixture(h.T, filepath.Dir(tr.after(tr.nights+1)))
		if tr.nights > 0 {
			next.adopt("", tr.after(tr.nights))
		}
		next.service.Advance(tr.nights)
		next.runNight()
	}
}

// takeNight brings the warehouse to the state after the next night of the cache. It does not
// change a warehouse whose latest night is not in the cache or was modified.
func (h *fixture) takeNight(from *nightCache) (run string) {
	h.Helper()
	day := h.service.Day()
	before := from.after(day)
	if day == 0 {
		before = ""
	}
	if latestIn(before) != latestIn(h.path("warehouse")) {
		return ""
	}
	from.grow(h, day+1)
	h.adopt(before, from.after(day+1))
	h.advance()
	return latestIn(h.path("warehouse"))
}

// latestIn returns the published run of a warehouse, or "".
func latestIn(dir string) string {
	target, err := os.Readlink(filepath.Join(dir, "latest"))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}

// adopt applies the difference between two folders of the cache to the warehouse. Files that
// nights never change are linked. Lines are appended to the ledger, because the lake may have
// written to it.
func (h *fixture) adopt(before, after string) {
	h.Helper()
	dir := h.path("warehouse")
	h.must(filepath.WalkDir(after, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(after, path)
		to := filepath.Join(dir, name)
		switch {
		case e.IsDir():
			info, err := e.Info()
			return errors.Join(err, os.MkdirAll(to, info.Mode().Perm()))
		case e.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			return errors.Join(err, removeAny(to), os.Symlink(target, to))
		case strings.HasPrefix(name, "state"+string(filepath.Separator)):
			return continueFile(filepath.Join(before, name), path, to)
		}
		return errors.Join(removeAny(to), os.Link(path, to))
	}))
	if before == "" {
		return
	}
	h.must(filepath.WalkDir(before, func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(before, path)
		if _, gone := os.Lstat(filepath.Join(after, name)); errors.Is(gone, fs.ErrNotExist) && err == nil && !e.IsDir() {
			return removeAny(filepath.Join(dir, name))
		}
		return err
	}))
}

// continueFile appends the lines that were added between two states of a file. A file that
// changed otherwise is replaced.
func continueFile(before, after, to string) error {
	now, err := os.ReadFile(after)
	if err != nil {
		return err
	}
	old, _ := os.ReadFile(before) // missing for a new file
	own, _ := os.ReadFile(to)
	if rest, ok := bytes.CutPrefix(now, old); ok && len(old) > 0 && filepath.Base(to) == "runs.jsonl" {
		now = append(own, rest...)
	}
	return os.WriteFile(to, now, 0o600)
}

func removeAny(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
