package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"placementsync/internal/cli"
	"placementsync/internal/testing/harness"
)

// sharedResults contains results that several tests share. The first use creates them.
type sharedResults struct {
	// demo runs a demo of three nights and returns its folder. Tests must not change its
	// files.
	demo func() (string, error)
	// lake builds the lake program and returns its folder.
	lake func() (string, error)
}

var shared sharedResults

// tests runs the tests of this package and then removes the shared results.
type tests struct{ *testing.M }

// Run implements testscript.TestingM.
func (m tests) Run() int {
	dir, err := os.MkdirTemp("", "placementsync-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir) // an error leaves only temporary files
	shared = sharedResults{
		demo: sync.OnceValues(func() (string, error) {
			demo := filepath.Join(dir, "demo")
			var stderr bytes.Buffer
			p := process{stdout: io.Discard, stderr: &stderr, Host: cli.Host{LookupEnv: func(string) (string, bool) { return "", false }, Now: time.Now}}
			if code := executeArgs(context.Background(), []string{"demo", "--strange", "--nights", "3", "--dir", demo}, p); code != 0 {
				return "", fmt.Errorf("the demo ended with %d: %s", code, &stderr)
			}
			return demo, nil
		}),
		lake: sync.OnceValues(func() (string, error) {
			lakeDir := filepath.Join(dir, "lake")
			return lakeDir, errors.Join(os.Mkdir(lakeDir, 0o755), buildLake(lakeDir))
		}),
	}
	return m.M.Run()
}

// copyDemo copies the shared demo to a folder of a script.
func copyDemo(ts *testscript.TestScript, neg bool, args []string) {
	requireUsage(ts, !neg && len(args) == 1, "copy-demo DIR")
	demo, err := shared.demo()
	ts.Check(err)
	ts.Check(copyTree(demo, ts.MkAbs(args[0])))
}

// demoOfThreeNights copies the shared demo to a temporary folder. It returns the path of the copied
// config.yaml. The race detector makes the demo slow, so these tests run without it.
func demoOfThreeNights(t *testing.T) (configFile string) {
	t.Helper()
	harness.Slow(t)
	demo, err := shared.demo()
	harness.Must(t, err)
	dir := filepath.Join(t.TempDir(), "demo")
	harness.Must(t, copyTree(demo, dir))
	return filepath.Join(dir, "config.yaml")
}

// copyTree copies a folder with its symbolic and hard links.
func copyTree(from, to string) error {
	type copiedFile struct {
		info fs.FileInfo
		path string
	}
	copies := map[string][]copiedFile{} // by base name, which hard links share
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		relPath, relErr := filepath.Rel(from, path)
		if err := errors.Join(err, relErr); err != nil {
			return err
		}
		info, err := e.Info()
		target := filepath.Join(to, relPath)
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return os.MkdirAll(target, info.Mode().Perm())
		case e.Type() == fs.ModeSymlink:
			link, err := os.Readlink(path)
			return errors.Join(err, os.Symlink(link, target))
		}
		for _, c := range copies[e.Name()] {
			if os.SameFile(c.info, info) {
				return os.Link(c.path, target)
			}
		}
		copies[e.Name()] = append(copies[e.Name()], copiedFile{info, target})
		data, err := os.ReadFile(path)
		return errors.Join(err, os.WriteFile(target, data, info.Mode().Perm()))
	})
}
