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

// nightCache contains a copy of a warehouse after one night, after two nights and so on. Each night
// runs only once for all tests.
type nightCache struct {
	mu     sync.Mutex // guards nights
	dir    string
	nights int
}

// sharedNights is the cache of all fixtures.
var sharedNights nightCache

// folderAfter returns the folder of the warehouse after a number of nights.
func (c *nightCache) folderAfter(nights int) string {
	return filepath.Join(c.dir, strconv.Itoa(nights), "warehouse")
}

// addNights runs nights until the cache has the given number of nights.
func (c *nightCache) addNights(h *fixture, nights int) {
	h.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; c.nights < nights; c.nights++ {
		next := newEmptyFixture(h.T, filepath.Dir(c.folderAfter(c.nights+1)))
		if c.nights > 0 {
			next.applyNight("", c.folderAfter(c.nights))
		}
		next.service.Advance(c.nights)
		next.runNight()
	}
}

// cachedNight takes the next night from the cache: it brings the warehouse to the state after this night and
// returns the run of the night. It returns "" and changes no file if the latest night of the warehouse is not
// in the cache.
func (h *fixture) cachedNight(cache *nightCache) (run string) {
	h.Helper()
	day := h.service.Day()
	before := cache.folderAfter(day)
	if day == 0 {
		before = ""
	}
	if latestRunOf(before) != latestRunOf(h.path("warehouse")) {
		return ""
	}
	cache.addNights(h, day+1)
	h.applyNight(before, cache.folderAfter(day+1))
	h.advance()
	return latestRunOf(h.path("warehouse"))
}

// latestRunOf returns the published run of a warehouse, or "".
func latestRunOf(dir string) string {
	target, err := os.Readlink(filepath.Join(dir, "latest"))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}

// applyNight applies the difference between two folders of the cache to the warehouse. An empty oldDir means
// that no warehouse existed before. Files outside state/ are linked. New lines of the ledger are
// appended, because commands of the lake may have written other lines to the ledger.
func (h *fixture) applyNight(oldDir, newDir string) {
	h.Helper()
	dir := h.path("warehouse")
	h.must(filepath.WalkDir(newDir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(newDir, path)
		to := filepath.Join(dir, name)
		switch {
		case e.IsDir():
			info, err := e.Info()
			return errors.Join(err, os.MkdirAll(to, info.Mode().Perm()))
		case e.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			return errors.Join(err, removeAny(to), os.Symlink(target, to))
		case strings.HasPrefix(name, "state"+string(filepath.Separator)):
			return updateStateFile(filepath.Join(oldDir, name), path, to)
		}
		return errors.Join(removeAny(to), os.Link(path, to))
	}))
	if oldDir == "" {
		return
	}
	h.must(filepath.WalkDir(oldDir, func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(oldDir, path)
		if _, statErr := os.Lstat(filepath.Join(newDir, name)); errors.Is(statErr, fs.ErrNotExist) && err == nil && !e.IsDir() {
			return removeAny(filepath.Join(dir, name))
		}
		return err
	}))
}

// updateStateFile applies the difference between two versions of a state file to the file of the
// warehouse. Lines that were added to runs.jsonl are appended. Any other file is replaced.
func updateStateFile(oldFile, newFile, to string) error {
	data, err := os.ReadFile(newFile)
	if err != nil {
		return err
	}
	old, _ := os.ReadFile(oldFile) // missing for a new file
	current, _ := os.ReadFile(to)
	if rest, ok := bytes.CutPrefix(data, old); ok && len(old) > 0 && filepath.Base(to) == "runs.jsonl" {
		data = append(current, rest...)
	}
	return os.WriteFile(to, data, 0o600)
}

func removeAny(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
