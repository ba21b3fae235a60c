package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"placementsync/internal/cli"
	"placementsync/internal/sim"
	"placementsync/internal/testing/harness"
)

// sharedResults contains results that several tests share. The first use creates them.
type sharedResults struct {
	// night runs one night of four lists of smallWorld, and returns the folder of the warehouse.
	night func() (string, error)
	// nights runs a demo of three nights with few records and streams, and returns its folder. Tests must not change
	// its files.
	nights func() (string, error)
	// demo runs three nights of all streams in the service of the command "demo", with which trials need more time.
	demo func() (string, error)
	// lake builds the lake program and returns its folder.
	lake func() (string, error)
}

var shared sharedResults

// smallWorld is a service with few records.
var smallWorld = sim.Options{Seed: 1, Outlets: 6, Listings: 60, Profiles: 2, Campaigns: 3, Orders: 8, HistoryDays: 30, Token: demoToken}

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
		night: sync.OnceValues(func() (string, error) {
			service, warehouseDir := sim.New(smallWorld), filepath.Join(dir, "night")
			baseURL, stop, err := service.Serve()
			if err != nil {
				return "", err
			}
			defer stop()
			text := fmt.Sprintf("api: {base_url: %s, token: %s, requests_per_second: 0}\nwarehouse: {dir: %s, threads: 1}\n", baseURL, demoToken, warehouseDir)
			file, g := filepath.Join(dir, "night.yaml"), newQuietGlobals()
			g.Config = file
			if err := os.WriteFile(file, []byte(text+"streams: {include: [outlet_listings, product_listings, orders, campaigns]}\n"), 0o600); err != nil {
				return "", err
			}
			return warehouseDir, runNight(context.Background(), g, runOptions{newWarehouse: true})
		}),
		nights: sync.OnceValues(func() (string, error) {
			return runSmallDemo(filepath.Join(dir, "nights"))
		}),
		demo: sync.OnceValues(func() (string, error) {
			demo := filepath.Join(dir, "demo")
			return demo, runDemo(context.Background(), newQuietGlobals(), demoOptions{dir: demo, nights: 3, strange: true, seed: 1})
		}),
		lake: sync.OnceValues(func() (string, error) {
			lakeDir := filepath.Join(dir, "lake")
			return lakeDir, errors.Join(os.Mkdir(lakeDir, 0o755), buildLake(lakeDir))
		}),
	}
	return m.M.Run()
}

// runSmallDemo is like runDemo with three nights, but with few records and streams. It returns the folder of the demo.
func runSmallDemo(demo string) (string, error) {
	ctx, g := context.Background(), newQuietGlobals()
	service := sim.New(sim.Options{Seed: 1, Token: demoToken, Encodings: []string{"zstd", "gzip"},
		Outlets: 20, Listings: 80, Profiles: 12, Campaigns: 8, Orders: 30})
	baseURL, stop, err := service.Serve()
	if err != nil {
		return "", err
	}
	defer stop()
	if err := prepareDemo(demo, baseURL); err != nil {
		return "", err
	}
	g.Config = filepath.Join(demo, "config.yaml")
	cfg, err := g.loadConfig()
	if err != nil {
		return "", err
	}
	cfg.Streams.Include = []string{"outlet_listings", "product_listings", "orders", "order_items", "outlets", "profiles", "campaigns", "tags"}
	last, err := runDemoNights(ctx, g, 3, service, cfg)
	if err != nil {
		return "", err
	}
	return demo, showDemo(ctx, g, last, false)
}

// newQuietGlobals returns globals without an environment, whose output is discarded.
func newQuietGlobals() *globals {
	return &globals{process: processWithoutEnvironment(io.Discard, io.Discard)}
}

// processWithoutEnvironment returns a process without input and environment variables.
func processWithoutEnvironment(stdout, stderr io.Writer) process {
	noVariable := func(string) (string, bool) { return "", false }
	return process{stdin: strings.NewReader(""), stdout: stdout, stderr: stderr, Host: cli.Host{LookupEnv: noVariable, Now: time.Now}}
}

// copyShared copies a shared demo to a folder of a script.
func copyShared(usage string, demo func() (string, error)) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		requireUsage(ts, !neg && len(args) == 1, usage)
		dir, err := demo()
		ts.Check(err)
		ts.Check(copyTree(dir, ts.MkAbs(args[0])))
	}
}

// threeNights copies the small shared demo to a temporary folder. It returns the path of the copied config.yaml. The
// race detector makes nights slow, so these tests run without it.
func threeNights(t *testing.T) (configFile string) {
	t.Helper()
	harness.Slow(t)
	return copyDemo(t, shared.nights)
}

// demoOfThreeNights copies the whole shared demo for a trial. It returns the path of the copied config.yaml.
func demoOfThreeNights(t *testing.T) (configFile string) {
	t.Helper()
	harness.Long(t)
	return copyDemo(t, shared.demo)
}

func copyDemo(t *testing.T, shared func() (string, error)) (configFile string) {
	t.Helper()
	demo, err := shared()
	harness.Must(t, err)
	dir := filepath.Join(t.TempDir(), "demo")
	harness.Must(t, copyTree(demo, dir))
	return filepath.Join(dir, "config.yaml")
}

// copyTree copies a folder with its symbolic and hard links.
func copyTree(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	if output, err := exec.Command("cp", "-a", from+"/.", to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w\n%s", from, err, output)
	}
	return nil
}
