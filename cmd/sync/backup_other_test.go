package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"placementsync/internal/s3sim"
)

// TestBackupLeavesUploadsOfOthers holds that a backup removes parts of uploads of its own
// folder, and only when they are too old to be of a program at work.
func TestBackupLeavesUploadsOfOthers(t *testing.T) {
	d := newDepot(t)
	text, err := os.ReadFile(d.g.config)
	fatal(t, err)
	fatal(t, os.WriteFile(d.g.config, bytes.Replace(text, []byte("s3://store/night"), []byte("s3://store"), 1), 0o600))
	begin := func(name string, at time.Time) {
		d.store.Now = func() time.Time { return at }
		r := httptest.NewRequest(http.MethodPost, "/store/"+name+"?uploads", nil)
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+s3sim.AccessKey+"/x")
		d.store.ServeHTTP(httptest.NewRecorder(), r)
	}
	night := d.service.Now().AddDate(0, 0, 1)
	begin("somebody/else/big.bin", night.AddDate(0, 0, -9))
	begin("data/of-another-program", night.Add(-time.Hour))
	begin("data/of-a-killed-backup", night.AddDate(0, 0, -9))
	d.store.Now = func() time.Time { return d.g.now() }
	if n := d.store.Uploads(); n != 3 {
		t.Fatalf("%d uploads began, want 3", n)
	}
	fatal(t, d.night(t))
	if n := d.store.Uploads(); n != 2 {
		t.Errorf("%d uploads are left, want 2: that of another folder, and the young one", n)
	}
}
