package damage_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	"placementsync/internal/sim"
	"placementsync/internal/testing/trials"
)

// BenchmarkVerify measures a full verification of a warehouse of two nights. For comparison it
// measures sha256sum of the same files.
func BenchmarkVerify(b *testing.B) {
	service := sim.New(sim.Options{Seed: 1, Token: trials.Token, Outlets: 20, Listings: 40_000, Profiles: 3, Campaigns: 5, Orders: 50, Files: 5, Folders: 2})
	baseURL, stop, err := service.Serve()
	if err != nil {
		b.Fatal(err)
	}
	defer stop()
	cfg := trials.Job{URL: baseURL, Dir: b.TempDir(), Streams: []string{"product_listings", "orders"}}.Config()
	cfg.Fetch.PageSize, cfg.Warehouse.MemoryLimit = 100, "512MB"
	for range 2 {
		service.Advance(1)
		at := service.Now().Add(2 * time.Hour)
		cfg.Now = func() time.Time { return at }
		if _, err := pipeline.Run(b.Context(), cfg); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("read-data", func(b *testing.B) {
		for b.Loop() {
			v, err := repair.Verify(b.Context(), trials.RepairConfig(cfg), true)
			if err != nil || len(v.Damage) > 0 {
				b.Fatalf("%v: %+v", err, v.Damage)
			}
			b.SetBytes(v.Bytes)
		}
	})
	b.Run("sha256sum", func(b *testing.B) {
		// The other files of parquet/ are hard links to files of versions/.
		var files []string
		var totalBytes int64
		for _, pattern := range []string{"versions/*/*", "raw/*/*", "parquet/.meta/*", "parquet/.manifests/*"} {
			found, _ := filepath.Glob(filepath.Join(cfg.Warehouse.Dir, pattern))
			for _, file := range found {
				if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
					files, totalBytes = append(files, file), totalBytes+info.Size()
				}
			}
		}
		for b.Loop() {
			if err := exec.CommandContext(b.Context(), "sha256sum", files...).Run(); err != nil {
				b.Skip("sha256sum is not available:", err)
			}
			b.SetBytes(totalBytes)
		}
	})
}
