package main

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/testing/s3sim"
)

// TestLakeOnAnS3Server publishes nights to an S3 server that checks signatures and checksums, and
// compares the tables with the warehouse.
func TestLakeOnAnS3Server(t *testing.T) {
	server := s3sim.StartGateway(t, os.Getenv, "nights")
	h := newFixture(t, 1)
	const keepNights = 9
	h.useBucketAt(server.URL, keepNights)
	if got := h.run("check"); got.code != 0 {
		t.Fatalf("check: got %+v, want exit code 0", got)
	}
	first := h.publish()[0]
	h.requireEqualTables(first.Run)

	throttlesLeft := server.ThrottleWrites(5)
	second := h.night()
	h.publish()
	h.requireEqualTables(second)
	if n := throttlesLeft(); n > 0 {
		t.Errorf("the publish got %d throttled responses, want 5", 5-n)
	}

	server.FailWith(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		s3sim.Refuse(w, http.StatusForbidden, "AccessDenied")
		return true
	})
	third := h.night()
	if got := h.run("publish"); got.code != 1 || !strings.Contains(got.stderr, "AccessDenied") || strings.Contains(got.stdout+got.stderr, s3sim.SecretKey) {
		t.Errorf("publish: got %+v, want exit code 1 and AccessDenied without the key", got)
	}
	server.FailWith(nil)
	if run := h.shownRun(); run != second {
		t.Errorf("after a rejected publish the lake shows %s, want %s", run, second)
	}
	h.publish("--all")
	for _, run := range []string{first.Run, second, third} {
		h.requireEqualTables(run)
	}
	if s := h.status(); !slices.Equal(s.Nights, []string{first.Run, second, third}) {
		t.Errorf("status lists the nights %v, want %s, %s and %s", s.Nights, first.Run, second, third)
	}
	const nights, tablesPerNight = 3, 11
	h.compareWithPyIceberg(findPyIceberg(t), nights*tablesPerNight, map[string]string{"uri": "sqlite:///" + h.path("catalog.db"), "warehouse": "s3://nights/lake",
		"s3.endpoint": server.URL, "s3.region": s3sim.Region, "s3.access-key-id": s3sim.AccessKey, "s3.secret-access-key": s3sim.SecretKey})
}
