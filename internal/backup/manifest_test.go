package backup

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"placementsync/internal/object"
	"placementsync/internal/testing/s3sim"
)

// TestManifestsThatCannotBeRead holds that what a bucket says is refused with its reason, and
// that its time still counts.
func TestManifestsThatCannotBeRead(t *testing.T) {
	server := httptest.NewServer(s3sim.New("store"))
	t.Cleanup(server.Close)
	b, err := object.Open(t.Context(), object.Config{Endpoint: server.URL, Region: "eu-test-1", PathStyle: true,
		AccessKey: s3sim.AccessKey, SecretKey: s3sim.SecretKey}, "store", "a")
	if err != nil {
		t.Fatal(err)
	}
	one := File{"parquet/a", 1, strings.Repeat("0", 64)}
	at := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	for i, m := range []Manifest{
		{Kind: manifestKind, Format: manifestFormat, Files: []File{one}},
		{Kind: manifestKind, Format: manifestFormat + 1, Program: "v9"},
		{Kind: manifestKind, Format: manifestFormat, Files: []File{one, one}},
		{Kind: "another"},
	} {
		m.At = at.AddDate(0, 0, i)
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		name := manifestsDir + m.At.Format(nameTime) + "-" + object.SumOf(text).SHA256 + suffix
		if err := b.PutBytes(t.Context(), name, text); err != nil {
			t.Fatal(err)
		}
	}
	all, err := listManifests(t.Context(), b)
	if err != nil || len(all.whole) != 1 || !all.whole[0].At.Equal(at) || !all.last.Equal(at.AddDate(0, 0, 3)) {
		t.Fatalf("found %+v (%v), want the first as whole and the time of the last", all, err)
	}
	want := []string{"placementsync v9 wrote it in format 2", `it names "parquet/a" twice`, "it is no manifest of a backup"}
	if len(all.unread) != len(want) {
		t.Fatalf("%d manifests cannot be read, want %d", len(all.unread), len(want))
	}
	for i, one := range all.unread {
		if !strings.Contains(one.err.Error(), want[i]) {
			t.Errorf("got %v, want %s", one.err, want[i])
		}
	}
}

func TestTimeOfABackupIsLaterThanThoseBefore(t *testing.T) {
	at := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	for _, c := range []struct{ now, last, want time.Time }{
		{at, time.Time{}, at},
		{at.Add(900 * time.Microsecond), at.AddDate(0, 0, -1), at},
		{at, at, at.Add(time.Millisecond)},
		{at, at.AddDate(1, 0, 0), at.AddDate(1, 0, 0).Add(time.Millisecond)},
	} {
		if got := timeAfter(c.now, c.last); !got.Equal(c.want) {
			t.Errorf("at %s after %s: %s, want %s", c.now, c.last, got, c.want)
		}
	}
}
