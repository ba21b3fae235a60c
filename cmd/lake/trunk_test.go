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

// trunk is a warehouse that nothing disturbs, as it is after each of its nights. Houses
// take their nights from it, so that each is run once for all tests.
type trunk struct {
	mu     sync.Mutex // guards nights
	dir    string
	nights int
}

// nightsOfAll are those of the houses of newHouse.
var nightsOfAll trunk

// after is the warehouse after so many nights.
func (tr *trunk) after(nights int) string {
	return filepath.Join(tr.dir, strconv.Itoa(nights), "warehouse")
}

// grow runs the nights that are lacking.
func (tr *trunk) grow(h *house, nights int) {
	h.Helper()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for ; tr.nights < nights; tr.nights++ {
		next := openHouse(h.T, filepath.Dir(tr.after(tr.nights+1)))
		if tr.nights > 0 {
			next.adopt("", tr.after(tr.nights))
		}
		next.service.Advance(tr.nights)
		next.runNight()
	}
}

// takeNight brings the warehouse to the state after the next night of the trunk. Of one
// that is on no night of the trunk, or was disturbed, it changes nothing.
func (h *house) takeNight(from *trunk) (run string) {
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

// latestIn is the run that readers of a warehouse see; empty: there is none.
func latestIn(dir string) string {
	target, err := os.Readlink(filepath.Join(dir, "latest"))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}

// adopt changes the warehouse as a night did that changed the folder before into the folder
// after. Files that a night never changes again are linked. The ledger is continued, since
// a lake may have written into it.
func (h *house) adopt(before, after string) {
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

// continueFile adds to a file what came to it between two states. One that did not only
// grow is replaced.
func continueFile(before, after, to string) error {
	now, err := os.ReadFile(after)
	if err != nil {
		return err
	}
	old, _ := os.ReadFile(before) // none: it is new
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
