package faults_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strings"
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

// falsification is a kind of well-formed but false response. falsify derives a status and a body
// from the true body of a response. other is the body of another response of the stream, or nil. ok
// is false if the falsification does not apply to the endpoint.
type falsification struct {
	name    string
	falsify func(s stream.Stream, body, other []byte) (status int, falseBody []byte, ok bool)
	// laterOnly means that only a later night can detect the falsification, by comparing with an
	// earlier list.
	laterOnly bool
}

func withBody(name, body string) falsification {
	return falsification{name: name, falsify: func(stream.Stream, []byte, []byte) (int, []byte, bool) {
		return http.StatusOK, []byte(body), true
	}}
}

func withStatus(status int) falsification {
	return falsification{name: fmt.Sprint(status), falsify: func(_ stream.Stream, body, _ []byte) (int, []byte, bool) {
		return status, body, true
	}}
}

func falsifications() []falsification {
	return []falsification{
		withBody("an empty object", `{}`),
		withBody("an error object", `{"error":"temporary failure","code":500}`),
		{name: "null for the list", falsify: nullList},
		{name: "another record", falsify: otherResponse},
		withStatus(http.StatusAccepted), withStatus(http.StatusPartialContent),
		{name: "half the list with a matching total", falsify: func(s stream.Stream, body, _ []byte) (int, []byte, bool) {
			return shortenList(s, body, func(list []any) []any { return list[:(len(list)+1)/2] })
		}, laterOnly: true},
		{name: "no records with total 0", falsify: func(s stream.Stream, body, _ []byte) (int, []byte, bool) {
			return shortenList(s, body, func([]any) []any { return []any{} })
		}, laterOnly: true},
	}
}

// listMembers returns the names of the JSON members that contain the records of a list.
func listMembers() []string { return []string{"records", "countries", "states", "cities", "statuses"} }

// nullList replaces the list of a body by null, or the whole body if it has no list.
func nullList(_ stream.Stream, body, _ []byte) (int, []byte, bool) {
	envelope, ok := trials.Decode(string(body)).(map[string]any)
	if !ok {
		return http.StatusOK, []byte("null"), true
	}
	for _, name := range listMembers() {
		if _, ok := envelope[name]; ok {
			envelope[name] = nil
			return http.StatusOK, []byte(trials.Canonical(envelope)), true
		}
	}
	return http.StatusOK, []byte("null"), true
}

// otherResponse returns the response to a request for another id. It does not apply to streams whose
// records do not contain the requested id, because a night cannot detect a wrong id there.
func otherResponse(s stream.Stream, _, other []byte) (int, []byte, bool) {
	lacksID := slices.Contains([]string{"campaign_status_counts", "article_comments", "outlet_products"}, s.Name)
	return http.StatusOK, other, other != nil && !lacksID
}

// shortenList keeps a part of the list and adjusts the total.
func shortenList(s stream.Stream, body []byte, shorten func([]any) []any) (int, []byte, bool) {
	if s.Envelope == stream.Object || s.Envelope == stream.StatusCounts {
		return 0, nil, false
	}
	switch v := trials.Decode(string(body)).(type) {
	case []any:
		return http.StatusOK, []byte(trials.Canonical(shorten(v))), true
	case map[string]any:
		for _, name := range listMembers() {
			list, ok := v[name].([]any)
			if !ok {
				continue
			}
			v[name] = shorten(list)
			if _, ok := v["total_records"]; ok {
				v["total_records"] = len(v[name].([]any))
			}
			return http.StatusOK, []byte(trials.Canonical(v)), true
		}
	}
	return 0, nil, false
}

// falsifier is a handler in front of a service that falsifies the responses of one stream.
type falsifier struct {
	service *sim.Service

	mu             sync.Mutex
	stream         stream.Stream
	kind           *falsification
	bodies         map[string][]byte // bodies of the responses of the stream, by path
	falsifiedCount int
}

var parameter = regexp.MustCompile(`\{[^}]*\}`)

func (l *falsifier) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	recorder := httptest.NewRecorder()
	l.service.ServeHTTP(recorder, r)
	status, body := recorder.Code, recorder.Body.Bytes()
	l.mu.Lock()
	if matches, _ := path.Match(parameter.ReplaceAllString(l.stream.Path, "*"), r.URL.Path); matches && l.kind != nil && status == http.StatusOK {
		if code, falseBody, ok := l.kind.falsify(l.stream, body, l.storeAndGetOther(r.URL.Path, body)); ok {
			status, body = code, falseBody
			l.falsifiedCount++
		}
	}
	l.mu.Unlock()
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_, _ = rw.Write(body) // the client may disconnect
}

// storeAndGetOther stores the body of a path, and returns the body of another path of the stream, or
// nil if no other path was requested before.
func (l *falsifier) storeAndGetOther(path string, body []byte) []byte {
	l.bodies[path] = slices.Clone(body)
	for p, b := range l.bodies {
		if p != path {
			return b
		}
	}
	return nil
}

// setStream starts falsifying a stream. A nil kind stops it.
func (l *falsifier) setStream(s stream.Stream, kind *falsification) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stream, l.kind, l.bodies, l.falsifiedCount = s, kind, map[string][]byte{}, 0
}

// falsifierTrial is a harness with a falsifier in front of the service. The data of the service does
// not change, so every change in the warehouse is an error.
type falsifierTrial struct {
	*trials.Harness
	ref       *trials.Reference
	falsifier *falsifier
	// outcomes counts the outcomes of falsified nights.
	outcomes map[string]int
}

func newFalsifierTrial(t *testing.T, streams ...string) *falsifierTrial {
	t.Helper()
	world := trials.SmallWorld()
	world.Outlets, world.Listings, world.Orders, world.Campaigns, world.Files = 8, 24, 24, 6, 14
	f := &falsifierTrial{Harness: trials.NewHarness(t, world, streams...), outcomes: map[string]int{}}
	f.ref = trials.NewReference(t, f.Service, f.Config.Streams)
	f.falsifier = &falsifier{service: f.Service}
	server := httptest.NewServer(f.falsifier)
	t.Cleanup(server.Close)
	f.Config.Fetch.BaseURL, f.Config.Fetch.PageSize = server.URL, 100
	f.Config.Limits = load.Limits{Share: 0.2, Rows: 0}
	f.Config.Warehouse.KeepVersions = 2
	f.Service.Advance(1)
	f.At = f.Service.Now()
	return f
}

// runFalsified runs a night with a falsified stream. Tables whose streams are graded exact or
// repaired must equal the service. In the first night they are not compared if only a later night can
// detect the falsification. runFalsified reports whether any response was falsified.
func (f *falsifierTrial) runFalsified(t *testing.T, s stream.Stream, kind falsification) bool {
	t.Helper()
	latestBefore := f.LatestRun()
	f.falsifier.setStream(s, &kind)
	f.At = f.At.Add(time.Hour)
	res, err := pipeline.Run(t.Context(), f.Config)
	falsifiedCount := f.falsifier.falsifiedCount
	f.falsifier.setStream(s, nil)
	if falsifiedCount == 0 {
		return false
	}
	if err != nil {
		f.outcomes["stopped"]++
		if f.LatestRun() != latestBefore {
			t.Errorf("version %s was published although the night failed: %v", f.LatestRun(), err)
		}
		return true
	}
	reported := false
	proven := map[string]bool{}
	for _, result := range res.Run.Streams {
		proven[result.Stream] = result.Grade == stream.Exact || result.Grade == stream.Repaired
		reported = reported || !proven[result.Stream]
	}
	switch {
	case kind.laterOnly && latestBefore == "":
		f.outcomes["accepted without an earlier list to compare with"]++
		return true
	case reported:
		f.outcomes["reported"]++
	default:
		f.outcomes["unharmed"]++
	}
	current := f.ref.CurrentRows()
	for _, spec := range f.ref.UniqueTables() {
		if !slices.ContainsFunc(stream.FilledBy(f.Config.Streams, spec.Table), func(name string) bool { return !proven[name] }) {
			trials.CompareRows(t, spec, current, trials.ReadTable(t, spec, f.Catalog(), "main."+spec.Table), spec.Table)
		}
	}
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

// falsifyLaterNights runs a normal night, and then for each stream a night in which the stream is
// falsified. If checkEach is set, requireUnharmed follows each falsified night. Otherwise it follows
// only the last falsified night. It then also detects rows that an earlier falsified night closed,
// because the history keeps closed rows.
func falsifyLaterNights(t *testing.T, kind falsification, checkEach bool, names ...string) (nights int, outcomes map[string]int) {
	f := newFalsifierTrial(t, names...)
	f.SameDayNight()
	for _, s := range f.Config.Streams {
		t.Run("later night/"+s.Name, func(t *testing.T) {
			f.T = t
			if !f.runFalsified(t, s, kind) {
				return
			}
			if nights++; checkEach {
				f.requireUnharmed(t, true)
			}
		})
	}
	if !checkEach {
		t.Run("the night after", func(t *testing.T) { f.requireUnharmed(t, true) })
	}
	return nights, f.outcomes
}

// falsifyFirstNights falsifies each of the streams in the first night of a new warehouse. names are
// the streams that the nights read.
func falsifyFirstNights(t *testing.T, kind falsification, streams []stream.Stream, names ...string) (nights int, outcomes map[string]int) {
	outcomes = map[string]int{}
	for _, s := range streams {
		t.Run("first night/"+s.Name, func(t *testing.T) {
			f := newFalsifierTrial(t, names...)
			if f.runFalsified(t, s, kind) {
				nights++
				f.requireUnharmed(t, false)
			}
			for outcome, n := range f.outcomes {
				outcomes[outcome] += n
			}
		})
	}
	return nights, outcomes
}

// TestTrialFalseResponses is the short form of TestTortureFalseResponses. It falsifies only
// the lists of cities and campaigns, and the details, articles and status counts of campaigns.
func TestTrialFalseResponses(t *testing.T) {
	t.Parallel()
	for _, kind := range falsifications() {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			names := []string{"cities", "campaigns", "campaign_details", "campaign_articles", "campaign_status_counts"}
			falsifyLaterNights(t, kind, false, names...)
			statusCounts, _ := stream.Find(stream.All(), "campaign_status_counts")
			falsifyFirstNights(t, kind, []stream.Stream{statusCounts}, names...)
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
			var firstNights, laterNights int
			var firstOutcomes, laterOutcomes map[string]int
			defer trials.RecordTrial(t, time.Now(), func() torture.Trial {
				return torture.Trial{Name: "False responses: " + kind.name, Runs: firstNights + laterNights,
					Procedure: fmt.Sprintf("each endpoint that can send this response, for a whole night: %d first and %d later nights, each followed by a normal night", firstNights, laterNights),
					Outcome: "later nights: " + formatOutcomes(laterOutcomes) + "; 0 rows lost or changed without a lower grade, 0 tables wrongly graded exact; first nights: " +
						formatOutcomes(firstOutcomes)}
			})
			laterNights, laterOutcomes = falsifyLaterNights(t, kind, true)
			firstNights, firstOutcomes = falsifyFirstNights(t, kind, stream.All())
		})
	}
}

func formatOutcomes(outcomes map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		parts = append(parts, fmt.Sprintf("%d %s", outcomes[name], name))
	}
	return strings.Join(parts, ", ")
}
