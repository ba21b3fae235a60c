package faults_test

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	"placementsync/internal/testing/torture"
	"placementsync/internal/testing/trials"
)

// falsification is a kind of well-formed but false response.
type falsification struct {
	name string
	// status is the status of a response without records. 0 means that falsify changes the body.
	status int
	// falsify derives a false body from the true body of a response. other is the body of another response of the
	// stream, or nil. A nil result means that the falsification does not apply to the endpoint.
	falsify func(s stream.Stream, body, other []byte) []byte
	// laterOnly means that only a later night can detect the falsification, by comparing with an earlier list.
	laterOnly bool
}

func falsifications() []falsification {
	withBody := func(body string) func(stream.Stream, []byte, []byte) []byte {
		return func(stream.Stream, []byte, []byte) []byte { return []byte(body) }
	}
	half := func(list []any) []any { return list[:(len(list)+1)/2] }
	empty := func([]any) []any { return []any{} }
	return []falsification{
		{name: "an empty object", falsify: withBody(`{}`)},
		{name: "an error object", falsify: withBody(`{"error":"temporary failure","code":500}`)},
		{name: "null for the list", falsify: nullList},
		{name: "another record", falsify: otherResponse},
		{name: "202", status: 202},
		{name: "206", status: 206},
		{name: "half the list with a matching total", falsify: shortenList(half), laterOnly: true},
		{name: "no records with total 0", falsify: shortenList(empty), laterOnly: true},
	}
}

// findList returns the name of the JSON member of an envelope that contains the records of a list, or "".
func findList(envelope map[string]any) string {
	for _, name := range []string{"records", "countries", "states", "cities", "statuses"} {
		if _, ok := envelope[name]; ok {
			return name
		}
	}
	return ""
}

// nullList replaces the list of a body by null, or the whole body if it has no list.
func nullList(_ stream.Stream, body, _ []byte) []byte {
	envelope, _ := trials.Decode(string(body)).(map[string]any)
	name := findList(envelope)
	if name == "" {
		return []byte("null")
	}
	envelope[name] = nil
	return []byte(trials.Canonical(envelope))
}

// otherResponse returns the response to a request for another id. It does not apply to streams whose
// records do not contain the requested id, because a night cannot detect a wrong id there.
func otherResponse(s stream.Stream, _, other []byte) []byte {
	if slices.Contains([]string{"campaign_status_counts", "article_comments", "outlet_products"}, s.Name) {
		return nil
	}
	return other
}

// shortenList returns a function that keeps a part of the list and adjusts the total.
func shortenList(shorten func([]any) []any) func(s stream.Stream, body, other []byte) []byte {
	return func(s stream.Stream, body, _ []byte) []byte {
		if s.Envelope == stream.Object || s.Envelope == stream.StatusCounts {
			return nil
		}
		decoded := trials.Decode(string(body))
		if list, isArray := decoded.([]any); isArray {
			return []byte(trials.Canonical(shorten(list)))
		}
		envelope, _ := decoded.(map[string]any)
		name := findList(envelope)
		list, hasList := envelope[name].([]any)
		if !hasList {
			return nil
		}
		list = shorten(list)
		envelope[name] = list
		if _, ok := envelope["total_records"]; ok {
			envelope["total_records"] = len(list)
		}
		return []byte(trials.Canonical(envelope))
	}
}

// falsifierTrial runs nights with false responses. The data of the service does not change, so every change in the
// warehouse is an error.
type falsifierTrial struct {
	*trials.Harness
	ref *trials.Reference
	// outcomes counts the falsified nights by their outcome.
	outcomes map[string]int
}

func newFalsifierTrial(t *testing.T, streams ...string) *falsifierTrial {
	t.Helper()
	world := trials.SmallWorld()
	world.Outlets, world.Listings, world.Orders, world.Campaigns, world.Files = 8, 24, 24, 6, 14
	f := &falsifierTrial{Harness: trials.NewHarness(t, world, streams...), outcomes: map[string]int{}}
	f.ref = trials.NewReference(t, f.Service, f.Config.Streams)
	f.Config.Fetch.PageSize = 100
	f.Config.Limits = load.Limits{Share: 0.2, Rows: 0}
	f.Config.Warehouse.KeepVersions = 2
	f.Service.Advance(1)
	f.At = f.Service.Now()
	return f
}

// falsify makes the service falsify the responses of a stream. count is the number of false responses.
func (f *falsifierTrial) falsify(s stream.Stream, kind falsification) (count func() int) {
	if kind.falsify == nil {
		f.Service.ResetRequests()
		f.Service.SetFaults(sim.Fault{Route: s.Path, Kind: sim.FaultStatus, Status: kind.status})
		return func() int { return f.Service.RequestsByRoute()[s.Path] }
	}
	var mu sync.Mutex
	var bodies [][]byte
	falsified := 0
	f.Service.SetFaults(sim.Fault{Route: s.Path, Kind: sim.FaultRewrite, Rewrite: func(body []byte) []byte {
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, bytes.Clone(body))
		var other []byte
		if i := slices.IndexFunc(bodies, func(b []byte) bool { return !bytes.Equal(b, body) }); i >= 0 {
			other = bytes.Clone(bodies[i])
		}
		falseBody := kind.falsify(s, body, other)
		if falseBody == nil {
			return body
		}
		falsified++
		return falseBody
	}})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return falsified
	}
}

// runFalsified runs a night with a falsified stream. Tables whose streams are graded exact or
// repaired must equal the service. In the first night they are not compared if only a later night can
// detect the falsification. runFalsified reports whether any response was falsified.
func (f *falsifierTrial) runFalsified(t *testing.T, s stream.Stream, kind falsification) bool {
	t.Helper()
	latestBefore := f.LatestRun()
	count := f.falsify(s, kind)
	f.At = f.At.Add(time.Hour)
	res, err := pipeline.Run(t.Context(), f.Config)
	isFalsified := count() > 0
	f.Service.SetFaults()
	if !isFalsified {
		return false
	}
	if err != nil {
		f.outcomes["stopped"]++
		if f.LatestRun() != latestBefore {
			t.Errorf("version %s was published although the night failed: %v", f.LatestRun(), err)
		}
		return true
	}
	switch {
	case kind.laterOnly && latestBefore == "":
		f.outcomes["accepted without an earlier list to compare with"]++
		return true
	case len(trials.ProvenStreams(res.Run)) < len(res.Run.Streams):
		f.outcomes["reported"]++
	default:
		f.outcomes["unharmed"]++
	}
	f.RequireProvenValues(f.ref, res.Run)
	return true
}

// requireUnharmed runs a normal night. After it, the warehouse must have the values of the service.
// If withHistory is set, the history must contain no closed row and no deletion.
func (f *falsifierTrial) requireUnharmed(t *testing.T, withHistory bool) {
	t.Helper()
	f.T = t
	f.SameDayNight()
	f.RequireValues(f.ref)
	if !withHistory {
		return
	}
	for _, table := range f.Config.Warehouse.Tables {
		if n := f.Count("past."+table.Name, "TRUE"); n != 0 {
			t.Errorf("past.%s has %d rows, want none, because no record changed", table.Name, n)
		}
	}
	if n := f.Count("meta.deletions", "TRUE"); n != 0 {
		t.Errorf("meta.deletions has %d rows, want none, because the service deleted no record", n)
	}
}

// falsifyLaterNights runs a normal night, and then for each stream a night in which the stream is falsified.
// requireUnharmed follows the last of them, and each of them if checkEach is set. After the last, it also detects rows
// that an earlier falsified night closed, because the history keeps closed rows.
func falsifyLaterNights(t *testing.T, kind falsification, checkEach bool, names ...string) (outcomes map[string]int) {
	f := newFalsifierTrial(t, names...)
	f.SameDayNight()
	for _, s := range f.Config.Streams {
		t.Run("later night/"+s.Name, func(t *testing.T) {
			f.T = t
			if f.runFalsified(t, s, kind) && checkEach {
				f.requireUnharmed(t, true)
			}
		})
	}
	t.Run("the night after", func(t *testing.T) { f.requireUnharmed(t, true) })
	return f.outcomes
}

// falsifyFirstNights falsifies each of the streams in the first night of a new warehouse. names are
// the streams that the nights read.
func falsifyFirstNights(t *testing.T, kind falsification, streams []stream.Stream, names ...string) (outcomes map[string]int) {
	outcomes = map[string]int{}
	for _, s := range streams {
		t.Run("first night/"+s.Name, func(t *testing.T) {
			f := newFalsifierTrial(t, names...)
			f.outcomes = outcomes
			if f.runFalsified(t, s, kind) {
				f.requireUnharmed(t, false)
			}
		})
	}
	return outcomes
}

// TestTrialFalseResponses is the short form of TestTortureFalseResponses. It falsifies only
// the lists of cities and campaigns, and the details, articles and status counts of campaigns.
func TestTrialFalseResponses(t *testing.T) {
	t.Parallel()
	for _, kind := range falsifications() {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			names := []string{"cities", "campaigns", "campaign_details", "campaign_articles", "campaign_status_counts"}
			outcomes := falsifyLaterNights(t, kind, false, names...)
			if len(outcomes) == 0 {
				t.Error("no response was falsified, so the test shows nothing")
			}
			statusCounts, _ := stream.Find(stream.All(), "campaign_status_counts")
			falsifyFirstNights(t, kind, []stream.Stream{statusCounts}, names...)
			t.Log(outcomes)
		})
	}
}

// TestTortureFalseResponses falsifies every endpoint in every way, in the first night and in a later
// night. Rows may be lost or changed only in tables with a lower grade than exact or repaired.
// After the next normal night, the warehouse must have the values of the service.
func TestTortureFalseResponses(t *testing.T) {
	trials.RequireTorture(t)
	for _, kind := range falsifications() {
		t.Run(kind.name, func(t *testing.T) {
			var first, later map[string]int
			defer trials.RecordTrial(t, time.Now(), func() torture.Trial {
				return torture.Trial{Name: "False responses: " + kind.name, Runs: sum(first) + sum(later),
					Procedure: "each endpoint that can send this response, for a whole first or later night, followed by a normal night",
					Outcome: fmt.Sprintf("later nights: %v; 0 rows lost or changed without a lower grade, 0 tables wrongly graded exact; "+
						"first nights: %v", later, first)}
			})
			later = falsifyLaterNights(t, kind, true)
			first = falsifyFirstNights(t, kind, stream.All())
		})
	}
}

func sum(outcomes map[string]int) (nights int) {
	for _, n := range outcomes {
		nights += n
	}
	return nights
}
