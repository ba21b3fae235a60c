package query_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/bucket"
	"placementsync/internal/checksum"
	"placementsync/internal/query"
	"placementsync/internal/testing/s3sim"
)

// bucketManifest is the key of the manifest in the bucket of openBucket.
const bucketManifest = "exports/manifest.json"

// openBucket returns a bucket with the prefix "exports" on a new server.
func openBucket(t *testing.T) (*s3sim.Server, *bucket.Bucket) {
	t.Helper()
	sim := s3sim.New("store")
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	b, err := bucket.Open(t.Context(), bucket.Config{Endpoint: server.URL, Region: "eu-test-1", PathStyle: true, AccessKey: s3sim.AccessKey,
		SecretKey: s3sim.SecretKey, MaxAttempts: 1, MaxPause: time.Millisecond, Stall: 5 * time.Second}, "store", "exports")
	if err != nil {
		t.Fatal(err)
	}
	return sim, b
}

// exportToBucket exports two files to the bucket, and returns the log.
func exportToBucket(t *testing.T, db *query.DB, b *bucket.Bucket, now time.Time) (query.ExportManifest, string, error) {
	t.Helper()
	var log bytes.Buffer
	q := query.Text("SELECT range AS part, range + 1 AS n FROM range(2)")
	m, err := db.ExportToBucket(t.Context(), b, query.Export{Query: &q, Format: query.Parquet, PartitionBy: "part", Program: "v1"}, now, slog.New(slog.NewTextHandler(&log, nil)))
	return m, log.String(), err
}

// exportedFiles returns the keys of the two files of exportToBucket.
func exportedFiles(folder string) []string {
	return []string{"exports/" + folder + "/answer/part=0/data_0.parquet", "exports/" + folder + "/answer/part=1/data_0.parquet"}
}

func checkObjects(t *testing.T, sim *s3sim.Server, when string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(sim.Objects("store")))); diff != "" {
		t.Errorf("objects %s (-want +got):\n%s", when, diff)
	}
}

// TestExportsInABucketKeepThePreviousExport exports three times. The third export removes the files of
// the first, and the file of an interrupted export that is older than a day.
func TestExportsInABucketKeepThePreviousExport(t *testing.T) {
	sim, b := openBucket(t)
	db := open(t, "")
	start := time.Date(2026, time.November, 1, 2, 0, 0, 0, time.UTC)
	now := start
	sim.Now = func() time.Time { return now }
	const interrupted, foreign = "20260101T000000.000000000Z/a.parquet", "2026/mine.csv"
	for _, name := range []string{interrupted, foreign} {
		if err := b.PutBytes(t.Context(), name, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	folders := []string{"20261102T010000.000000007Z", "20261102T020000.000000007Z", "20261102T030000.000000007Z"}
	files := [][]string{exportedFiles(folders[0]), exportedFiles(folders[1]), exportedFiles(folders[2])}
	others := []string{"exports/" + foreign, bucketManifest}
	for i, want := range [][]string{
		slices.Concat(others, files[0], []string{"exports/" + interrupted}),
		slices.Concat(others, files[0], files[1], []string{"exports/" + interrupted}), // exactly a day old
		slices.Concat(others, files[1], files[2]),
	} {
		now = start.Add(time.Duration(23+i) * time.Hour)
		m, log, err := exportToBucket(t, db, b, now.Add(7).In(time.FixedZone("", 3600)))
		if err != nil || log != "" {
			t.Fatalf("export %d: got %v and the log %q, want neither", i, err, log)
		}
		checkObjects(t, sim, "after export "+folders[i], want...)
		text := sim.Objects("store")[bucketManifest]
		wanted := query.BucketManifest{ExportManifest: m, Folder: folders[i]}
		if i > 0 {
			wanted.Previous = &query.PreviousExport{Folder: folders[i-1], Files: []string{"answer/part=0/data_0.parquet", "answer/part=1/data_0.parquet"}}
		}
		wantedText, err := json.MarshalIndent(wanted, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		// Readers of other programs find the files by these keys.
		isReadable := strings.Contains(string(text), `"folder": "`+folders[i]+`"`) && strings.Contains(string(text), `"before": {`) == (i > 0)
		if diff := cmp.Diff(string(wantedText)+"\n", string(text)); diff != "" || m.Program != "v1" || !isReadable || m.Files[1].Rows != 2 {
			t.Errorf("manifest of the program %q (-want +got):\n%s", m.Program, diff)
		}
		for k, f := range m.Files {
			if sum := checksum.SumText("", sim.Objects("store")[files[i][k]]); sum != (checksum.FileSum{Bytes: f.Bytes, SHA256: f.SHA256}) {
				t.Errorf("%s has the checksum %v, want %+v as in the manifest", f.File, sum, f)
			}
		}
	}
}

// TestThePreviousExportIsKeptForReaders exports twice, more than a day apart.
func TestThePreviousExportIsKeptForReaders(t *testing.T) {
	sim, b := openBucket(t)
	db := open(t, "")
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	now := time.Date(2026, time.November, 1, 2, 0, 0, 0, time.UTC)
	sim.Now = func() time.Time { return now }
	for range 2 {
		if _, _, err := exportToBucket(t, db, b, now); err != nil {
			t.Fatal(err)
		}
		now = now.Add(25 * time.Hour)
	}
	if entries, err := os.ReadDir(temp); err != nil || len(entries) > 0 {
		t.Errorf("after the exports the temporary folder contains %v (%v), want no files", entries, err)
	}
	first, second := exportedFiles("20261101T020000.000000000Z"), exportedFiles("20261102T030000.000000000Z")
	checkObjects(t, sim, "after the second export", slices.Concat(first, second, []string{bucketManifest})...)
}

func TestExportsKeepManifestsOfOtherPrograms(t *testing.T) {
	sim, b := openBucket(t)
	db := open(t, "")
	for _, text := range []string{"no JSON", `{"kind": "another program", "folder": "f"}`, `{"kind": "placementsync export"}`} {
		sim.Change("store", func(objects map[string][]byte) { objects[bucketManifest] = []byte(text) })
		_, _, err := exportToBucket(t, db, b, time.Now())
		if want := "s3://store/exports/manifest.json was not written by an export: name another prefix"; !errors.As(err, new(*query.UsageError)) || err.Error() != want {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
		checkObjects(t, sim, "beside the manifest "+text, bucketManifest)
		if got := string(sim.Objects("store")[bucketManifest]); got != text {
			t.Errorf("the manifest is %q, want it unchanged, %q", got, text)
		}
	}
}

// TestFailedUploadsKeepThePreviousExport exports to a server that refuses some requests.
func TestFailedUploadsKeepThePreviousExport(t *testing.T) {
	db := open(t, "")
	at := time.Date(2026, time.November, 1, 2, 0, 0, 0, time.UTC)
	const firstFolder, secondFolder = "20261101T020000.000000000Z", "20261101T030000.000000000Z"
	first, second := exportedFiles(firstFolder), exportedFiles(secondFolder)
	isManifest := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, bucketManifest) }
	isRemoval := func(r *http.Request) bool { return r.Method == http.MethodDelete || r.Method == http.MethodPost }
	isSecondFile := func(r *http.Request) bool {
		return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "part=1") || strings.Contains(r.URL.Path, "part%3D1")
	}
	for name, c := range map[string]struct {
		refuses func(r *http.Request) bool
		added   []string // keys of the files that the export leaves in the bucket
		want    []string // parts of the error
	}{
		"reading the manifest": {func(r *http.Request) bool { return r.Method == http.MethodGet && isManifest(r) }, nil, []string{"manifest.json"}},
		"uploading a file":     {isSecondFile, nil, []string{"readers of s3://store/exports keep the previous export"}},
		"uploading and removing a file": {func(r *http.Request) bool { return isSecondFile(r) || isRemoval(r) }, second[:1],
			[]string{"remove the uploaded files of the export from s3://store/exports/" + secondFolder + ", which still contains them", "readers of s3://store/exports keep the previous export"}},
		"uploading the manifest": {func(r *http.Request) bool { return r.Method == http.MethodPut && isManifest(r) }, second,
			[]string{"the files of the export are kept in s3://store/exports/" + secondFolder}},
	} {
		t.Run(name, func(t *testing.T) {
			sim, b := openBucket(t)
			if _, _, err := exportToBucket(t, db, b, at); err != nil {
				t.Fatal(err)
			}
			before := sim.Objects("store")[bucketManifest]
			sim.FailWith(func(w http.ResponseWriter, r *http.Request) bool {
				if !c.refuses(r) {
					return false
				}
				s3sim.Refuse(w, http.StatusForbidden, "AccessDenied")
				return true
			})
			_, _, err := exportToBucket(t, db, b, at.Add(time.Hour))
			if err == nil || errors.As(err, new(*query.UsageError)) {
				t.Fatalf("got %v, want an error of the server", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got the error %q, want it to contain %q", err, want)
				}
			}
			checkObjects(t, sim, "after the refusal", slices.Concat(first, c.added, []string{bucketManifest})...)
			if got := sim.Objects("store")[bucketManifest]; !bytes.Equal(got, before) {
				t.Errorf("the manifest is %s, want it unchanged", got)
			}
		})
	}
	t.Run("cancelled while the server stores a file", func(t *testing.T) {
		sim, b := openBucket(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		sim.FailWith(func(w http.ResponseWriter, r *http.Request) bool {
			if ctx.Err() != nil || !isSecondFile(r) {
				return false
			}
			sim.Change("store", func(objects map[string][]byte) { objects[first[1]] = []byte("x") })
			cancel()
			s3sim.Refuse(w, http.StatusForbidden, "AccessDenied")
			return true
		})
		q := query.Text("SELECT range AS part, range + 1 AS n FROM range(2)")
		_, err := db.ExportToBucket(ctx, b, query.Export{Query: &q, Format: query.Parquet, PartitionBy: "part"}, at, slog.New(slog.DiscardHandler))
		if err == nil {
			t.Error("the cancelled export returned no error")
		}
		if left := sim.Objects("store"); len(left) > 0 {
			t.Errorf("the bucket has %d files of the cancelled export, want none: %v", len(left), slices.Sorted(maps.Keys(left)))
		}
	})
	t.Run("listing old files", func(t *testing.T) {
		sim, b := openBucket(t)
		sim.FailWith(func(w http.ResponseWriter, r *http.Request) bool {
			isList := r.URL.Query().Has("list-type")
			if isList {
				s3sim.Refuse(w, http.StatusForbidden, "AccessDenied")
			}
			return isList
		})
		if _, log, err := exportToBucket(t, db, b, at); err != nil || !strings.Contains(log, "files of old exports not removed") {
			t.Errorf("got %v and the log %q, want a warning", err, log)
		}
		checkObjects(t, sim, "after the export", slices.Concat(first, []string{bucketManifest})...)
	})
}
