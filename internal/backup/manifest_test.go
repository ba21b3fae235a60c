package backup

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"placementsync/internal/bucket"
	"placementsync/internal/checksum"
	"placementsync/internal/testing/harness"
	"placementsync/internal/testing/s3sim"
)

// openBucket opens a prefix of a bucket that a local server provides.
func openBucket(t *testing.T) *bucket.Bucket {
	t.Helper()
	server := httptest.NewServer(s3sim.New("store"))
	t.Cleanup(server.Close)
	b, err := bucket.Open(t.Context(), bucket.Config{Endpoint: server.URL, Region: "eu-test-1", PathStyle: true,
		AccessKey: s3sim.AccessKey, SecretKey: s3sim.SecretKey}, "store", "a")
	harness.Must(t, err)
	return b
}

// TestUnreadableManifests checks the errors of unreadable manifests. manifests.newestAt must be
// the time of the newest manifest, which is unreadable.
func TestUnreadableManifests(t *testing.T) {
	b := openBucket(t)
	file := checksum.FileSum{File: "parquet/a", Bytes: 1, SHA256: strings.Repeat("0", 64)}
	at := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	for i, m := range []Manifest{
		{Kind: manifestKind, Format: manifestFormat, Files: []checksum.FileSum{file}},
		{Kind: manifestKind, Format: manifestFormat + 1, Program: "v9"},
		{Kind: manifestKind, Format: manifestFormat, Files: []checksum.FileSum{file, file}},
		{Kind: "another"},
	} {
		m.At = at.AddDate(0, 0, i)
		text, err := json.Marshal(m)
		harness.Must(t, err)
		name := manifestsDir + m.At.Format(nameTimeFormat) + "-" + checksum.Hex(text) + manifestSuffix
		harness.Must(t, b.PutBytes(t.Context(), name, text))
	}
	for _, name := range []string{"0-notes", "README"} { // not named like a manifest
		harness.Must(t, b.PutBytes(t.Context(), manifestsDir+name, []byte("x")))
	}
	all, err := listManifests(t.Context(), b)
	if err != nil || len(all.readable) != 1 || !all.readable[0].At.Equal(at) || !all.newestAt.Equal(at.AddDate(0, 0, 3)) {
		t.Fatalf("got %+v (%v), want one readable manifest of %s, and %s as newestAt", all, err, at, at.AddDate(0, 0, 3))
	}
	want := []string{"placementsync v9 wrote it in format 2", `it lists "parquet/a" twice`, "it is not a backup manifest"}
	if len(all.unreadable) != len(want) {
		t.Fatalf("%d manifests are unreadable, want %d", len(all.unreadable), len(want))
	}
	for i, m := range all.unreadable {
		if !strings.Contains(m.Error(), want[i]) {
			t.Errorf("got error %v, want an error that contains %q", m, want[i])
		}
	}
}

// TestNoReadableManifest checks the errors of a bucket whose two backups are unreadable. They must name the newer one.
// Only a new backup, not a restore, can use another prefix.
func TestNoReadableManifest(t *testing.T) {
	b := openBucket(t)
	harness.Must(t, b.PutBytes(t.Context(), manifestsDir+"00010101T000000.000Z-"+strings.Repeat("-", 64)+manifestSuffix, []byte("older")))
	if _, err := writeManifest(t.Context(), b, Manifest{Kind: manifestKind, Format: manifestFormat + 1, Program: "v9"}); err != nil {
		t.Fatal(err)
	}
	const want = "use that version or a later one; no other backup in s3://store/a can be read"
	c := Config{Bucket: b}
	if _, err := c.readNewest(t.Context()); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("a restore returned %v, want an error that ends with %q", err, want)
	}
	const wantNew = want + "; to begin a new backup, set another prefix"
	if _, err := (&job{Config: c}).checkOwner(t.Context()); err == nil || !strings.HasSuffix(err.Error(), wantNew) {
		t.Errorf("a new backup returned %v, want an error that ends with %q", err, wantNew)
	}
}

// TestManifestsKeepTheirFormat compares the JSON of a manifest, which other releases restore.
func TestManifestsKeepTheirFormat(t *testing.T) {
	m := Manifest{Kind: manifestKind, Format: manifestFormat, Run: "r", At: beginning, Program: "p",
		Files: []checksum.FileSum{{File: "f", Bytes: 1, SHA256: "s"}}, LeftOut: []DamagedFile{{"d", "it is missing"}}}
	const want = `{"kind":"placementsync backup","format":1,"run_id":"r","at":"2026-11-01T02:00:00Z",` +
		`"program_version":"p","files":[{"file":"f","bytes":1,"sha256":"s"}],` +
		`"left_out":[{"file":"d","problem":"it is missing"}]}`
	if got, err := json.Marshal(m); err != nil || string(got) != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
}

func TestBackupTimesIncrease(t *testing.T) {
	at := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	for _, c := range []struct{ now, previous, want time.Time }{
		{at, time.Time{}, at}, // the first backup
		{at.Add(900 * time.Microsecond), at.AddDate(0, 0, -1), at},           // names have a precision of milliseconds
		{at.In(time.FixedZone("", 3600)), time.Time{}, at},                   // names have the time in UTC
		{at, at, at.Add(time.Millisecond)},                                   // two backups in a millisecond
		{at, at.AddDate(1, 0, 0), at.AddDate(1, 0, 0).Add(time.Millisecond)}, // the clock was set back
	} {
		if got := timeAfter(c.now, c.previous).Format(nameTimeFormat); got != c.want.Format(nameTimeFormat) {
			t.Errorf("timeAfter(%s, %s) = %s in a name, want %s", c.now, c.previous, got, c.want.Format(nameTimeFormat))
		}
	}
}
