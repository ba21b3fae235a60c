package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
	"placementsync/internal/testing/s3sim"
)

// useServer configures another server for the backups of the warehouse.
func (d *bucketHarness) useServer(t *testing.T, address string) {
	t.Helper()
	text, err := os.ReadFile(d.g.Config)
	harness.Must(t, err)
	_, rest, _ := strings.Cut(string(text), "endpoint: \"")
	oldAddress, _, _ := strings.Cut(rest, "\"")
	harness.Must(t, os.WriteFile(d.g.Config, []byte(strings.Replace(string(text), oldAddress, address, 1)), 0o600))
}

// TestBackupOnAnS3Server runs backups to a server that checks signatures and checksums, as the
// servers of object storage providers do.
func TestBackupOnAnS3Server(t *testing.T) {
	t.Parallel()
	gateway := s3sim.StartGateway(t, os.Getenv, "store")
	d := newBucketHarness(t, "product_listings", "orders", "order_details")
	d.useServer(t, gateway.URL)

	harness.Must(t, d.night(t))
	harness.Must(t, runBackup(t.Context(), d.g, backupOptions{verify: true, readData: true}))

	throttlesLeft := gateway.ThrottleWrites(5)
	harness.Must(t, d.night(t))
	if n := throttlesLeft(); n > 0 {
		t.Errorf("the night got %d throttled responses, want 5", 5-n)
	}

	resets := 0
	gateway.FailWith(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && resets < 3 {
			resets++
			_, _ = io.CopyN(io.Discard, r.Body, 100)
			panic(http.ErrAbortHandler)
		}
		return false
	})
	harness.Must(t, d.night(t))
	if resets < 3 {
		t.Errorf("%d connections were reset, want 3", resets)
	}
	harness.Must(t, runBackup(t.Context(), d.g, backupOptions{verify: true, readData: true}))

	d.failBackups(t, gateway)
	harness.Must(t, runBackup(t.Context(), d.g, backupOptions{}))

	prices := d.prices(t)
	harness.Must(t, os.RemoveAll(d.dir()))
	later := d.g.Now().Add(time.Hour)
	d.g.Now = func() time.Time { return later }
	truncationsLeft := 3
	gateway.FailWith(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/data/") && truncationsLeft > 0 {
			truncationsLeft--
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(make([]byte, 100))
			panic(http.ErrAbortHandler)
		}
		return false
	})
	harness.Must(t, runRebuild(t.Context(), d.g, rebuildOptions{from: "s3://store/night"}))
	if got := d.prices(t); got != prices {
		t.Errorf("the restored warehouse returns\n%s\nwant\n%s", got, prices)
	}
	harness.Must(t, runVerify(t.Context(), d.g, verifyOptions{readData: true, format: "text"}))
	gateway.FailWith(nil)
	harness.Must(t, runExport(t.Context(), d.g, exportOptions{to: "s3://store/export", format: "parquet"}, []string{"product_listings"}))
	if strings.Contains(d.out.String(), s3sim.SecretKey) || strings.Contains(d.out.String(), "another-secret") {
		t.Error("the output contains a key")
	}
}

// failBackups runs nights with wrong keys and with a missing bucket.
func (d *bucketHarness) failBackups(t *testing.T, gateway *s3sim.Gateway) {
	t.Helper()
	secretFile := filepath.Join(d.root, "secret")
	harness.Must(t, os.WriteFile(secretFile, []byte("another-secret"), 0o600))
	gateway.FailWith(nil)
	readsBefore := gateway.Requests()[http.MethodGet]
	err := d.night(t)
	if exitCodeOf(t, err) != ledger.Partial.ExitCode() || !strings.Contains(err.Error(), "computes another signature") || strings.Contains(err.Error(), "another-secret") {
		t.Errorf("the night with a wrong key ended with %d: %v; want the outcome partial, and the reason without the key", exitCodeOf(t, err), err)
	}
	if n := gateway.Requests()[http.MethodGet] - readsBefore; n > 2 {
		t.Errorf("the wrong key was tried %d times, want at most 2", n)
	}
	harness.Must(t, os.WriteFile(secretFile, []byte(s3sim.SecretKey), 0o600))

	harness.Must(t, os.Rename(filepath.Join(gateway.Files, "store"), filepath.Join(gateway.Files, "gone")))
	err = d.night(t)
	if exitCodeOf(t, err) != ledger.Partial.ExitCode() || !strings.Contains(err.Error(), "the bucket does not exist") {
		t.Errorf("the night without a bucket ended with %d: %v; want the outcome partial, and the reason", exitCodeOf(t, err), err)
	}
	harness.Must(t, os.Rename(filepath.Join(gateway.Files, "gone"), filepath.Join(gateway.Files, "store")))
}
