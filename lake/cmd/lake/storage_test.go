package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"placementsync/internal/testing/s3sim"
)

// useBucket configures a lake in the bucket "nights" of a server, and returns the address of the server.
func (h *fixture) useBucket(server *s3sim.Server) string {
	h.Helper()
	web := httptest.NewServer(server)
	h.Cleanup(web.Close)
	const keepNights = 9
	h.useBucketAt(web.URL, keepNights)
	return web.URL
}

// useBucketAt configures a lake in the bucket "nights" at the address of a server.
func (h *fixture) useBucketAt(address string, keepNights int) {
	h.Helper()
	h.write("access", s3sim.AccessKey)
	h.write("secret", s3sim.SecretKey)
	h.write("config.yaml", fmt.Sprintf("warehouse: {dir: ./warehouse, keep_versions: 9, memory_limit: 256MB, threads: 1}\n"+
		"lake: {catalog: 'sqlite:catalog.db', warehouse: s3://nights/lake, keep_nights: %d}\n"+
		"s3: {endpoint: %s, region: %s, path_style: true, access_key_file: access, secret_key_file: secret}\n", keepNights, address, s3sim.Region))
}

// TestObjectStorage publishes, verifies and expires nights in a bucket. A publish with fewer kept nights must
// remove old objects too.
func TestObjectStorage(t *testing.T) {
	h := newFixture(t, 1)
	server := s3sim.New("nights")
	address := h.useBucket(server)
	if got := h.run("check"); got.code != 0 || len(server.Objects("nights")) > 0 {
		t.Fatalf("check: got %+v and %d objects, want exit code 0 and no objects", got, len(server.Objects("nights")))
	}
	first := h.publish()[0].Run
	h.requireEqualTables(first)
	second := h.night()
	h.publish()
	h.requireEqualTables(first)
	h.requireEqualTables(second)
	h.useBucketAt(address, 1)
	before := len(server.Objects("nights"))
	if got := h.run("expire"); got.code != 0 || !strings.Contains(got.stdout, "removed 1 night") {
		t.Errorf("expire: got %+v, want one removed night", got)
	}
	if after := len(server.Objects("nights")); after >= before {
		t.Errorf("the bucket has %d objects, want fewer than the %d before expire", after, before)
	}
	h.requireEqualTables(h.shownRun())
	third := h.night()
	h.publish()
	h.requireEqualTables(third)
	for name := range server.Objects("nights") {
		if strings.Contains(name, "/data/"+second) && strings.Contains(name, "/placements_current/product_listings/") {
			t.Errorf("the object %s of an old night remains", name)
		}
	}
}

// TestBucketFailsDuringPublish rejects all writes of a publish from the ninth on. The lake must still
// show the earlier night, and the next publish must succeed. The error of a missing bucket must
// name lake.warehouse.
func TestBucketFailsDuringPublish(t *testing.T) {
	h := newFixture(t, 1)
	server := s3sim.New("nights")
	h.useBucket(server)
	first := h.publish()[0].Run
	h.night()
	var puts atomic.Int64
	server.FailWith(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || puts.Add(1) < 9 {
			return false
		}
		s3sim.Refuse(w, http.StatusForbidden, "AccessDenied")
		return true
	})
	h.mustFail(1, "AccessDenied", "publish")
	if run := h.shownRun(); run != first {
		t.Errorf("the lake shows %s, want %s", run, first)
	}
	server.FailWith(nil)
	h.publish()
	h.requireEqualTables(h.shownRun())
	h.night()
	server.RemoveBucket("nights")
	if got := h.run("publish"); got.code != 1 || !strings.Contains(got.stderr, "check that lake.warehouse") || strings.Contains(got.stderr, s3sim.SecretKey) {
		t.Errorf("publish without a bucket: got %+v, want exit code 1 and advice without the key", got)
	}
}
