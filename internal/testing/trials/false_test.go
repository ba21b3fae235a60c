package trials_test

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

	"placementsync/internal/fetch"
	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	"placementsync/internal/testing/torture"
)

// falsehood is a well-formed answer that is not what was asked for. It makes a
// status and a body of a true answer; ok is false where it cannot be told of this
// endpoint.
type falsehood struct {
	name string
	tell func(s stream.Stream, body, other []byte) (status int, lie []byte, ok bool)
	// later marks what a first night cannot find out: it has nothing to compare
	// a shorter list with.
	later bool
}

// instead answers the same body whatever is asked.
func instead(name, body string) falsehood {
	return falsehood{name: name, tell: func(stream.Stream, []byte, []byte) (int, []byte, bool) {
		return http.StatusOK, []byte(body), true
	}}
}

// under answers the true body under another status.
func under(status int) falsehood {
	return falsehood{name: fmt.Sprint(status), tell: func(_ stream.Stream, body, _ []byte) (int, []byte, bool) {
		return status, body, true
	}}
}

func falsehoods() []falsehood {
	return []falsehood{
		instead("an empty object", `{}`),
		instead("an error object", `{"error":"temporary failure","code":500}`),
		{name: "null for the list", tell: tellNull},
		{name: "another record", tell: tellAnother},
		under(http.StatusAccepted), under(http.StatusPartialContent),
		{name: "half the list with a matching total", tell: func(s stream.Stream, body, _ []byte) (int, []byte, bool) {
			return tellPart(s, body, func(list []any) []any { return list[:(len(list)+1)/2] })
		}, later: true},
		{name: "no records with total 0", tell: func(s stream.Stream, body, _ []byte) (int, []byte, bool) {
			return tellPart(s, body, func([]any) []any { return []any{} })
		}, later: true},
	}
}

// lists are the members that hold the records of an answer, in any envelope.
func lists() []string { return []string{"records", "countries", "states", "cities", "statuses"} }

func tellNull(_ stream.Stream, body, _ []byte) (int, []byte, bool) {
	envelope, ok := decode(string(body)).(map[string]any)
	if !ok {
		return http.StatusOK, []byte("null"), true
	}
	for _, name := range lists() {
		if _, listed := envelope[name]; listed {
			envelope[name] = nil
			return http.StatusOK, []byte(canonical(envelope)), true
		}
	}
	return http.StatusOK, []byte("null"), true
}

// tellAnother answers for another id. Status counts and comments do not say whose
// they are, so that nobody could tell.
func tellAnother(s stream.Stream, _, other []byte) (int, []byte, bool) {
	silent := slices.Contains([]string{"campaign_status_counts", "article_comments", "outlet_products"}, s.Name)
	return http.StatusOK, other, other != nil && !silent
}

// tellPart leaves of the list what part does, and corrects the total.
func tellPart(s stream.Stream, body []byte, part func([]any) []any) (int, []byte, bool) {
	if s.Envelope == stream.Object || s.Envelope == stream.Raw {
		return 0, nil, false
	}
	switch v := decode(string(body)).(type) {
	case []any:
		return http.StatusOK, []byte(canonical(part(v))), true
	case map[string]any:
		for _, name := range lists() {
			list, listed := v[name].([]any)
			if !listed {
				continue
			}
			v[name] = part(list)
			if _, totalled := v["total_records"]; totalled {
				v["total_records"] = len(v[name].([]any))
			}
			return http.StatusOK, []byte(canonical(v)), true
		}
	}
	return 0, nil, false
}

// liar stands before a service and answers the questions of one stream with a
// falsehood.
type liar struct {
	service *sim.Service

	mu     sync.Mutex
	stream stream.Stream
	lie    *falsehood
	bodies map[string][]byte // by path, of the stream
	told   int
}

var parameter = regexp.MustCompile(`\{[^}]*\}`)

func (l *liar) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	l.service.ServeHTTP(answer, r)
	status, body := answer.Code, answer.Body.Bytes()
	l.mu.Lock()
	if asked, _ := path.Match(parameter.ReplaceAllString(l.stream.Path, "*"), r.URL.Path); asked && l.lie != nil && status == http.StatusOK {
		if code, lie, ok := l.lie.tell(l.stream, body, l.other(r.URL.Path, body)); ok {
			status, body = code, lie
			l.told++
		}
	}
	l.mu.Unlock()
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_, _ = rw.Write(body) // a client that hangs up has its reasons
}

// other is an answer of the same stream to another question.
func (l *liar) other(path string, body []byte) []byte {
	l.bodies[path] = slices.Clone(body)
	for p, b := range l.bodies {
		if p != path {
			return b
		}
	}
	return nil
}

// set begins a falsehood about a stream; nil ends it.
func (l *liar) set(s stream.Stream, lie *falsehood) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stream, l.lie, l.bodies, l.told = s, lie, map[string][]byte{}, 0
}

// falseTrial is a warehouse whose service can be made to lie. Its world stands
// still, so that whatever a night takes from it or changes is wrong.
type falseTrial struct {
	*house
	ref  *reference
	liar *liar
	// outcomes counts how the nights with a falsehood ended.
	outcomes map[string]int
}

func newFalseTrial(t *testing.T, streams ...string) *falseTrial {
	t.Helper()
	world := smallWorld()
	world.Outlets, world.Listings, world.Orders, world.Campaigns, world.Files = 8, 24, 24, 6, 14
	f := &falseTrial{house: newHouse(t, world, streams...), outcomes: map[string]int{}}
	f.ref = newReference(t, f.service, f.cfg.Streams)
	f.liar = &liar{service: f.service}
	server := httptest.NewServer(f.liar)
	t.Cleanup(server.Close)
	f.cfg.Fetch.BaseURL, f.cfg.Fetch.PageSize = server.URL, 100
	f.cfg.Limits = load.Limits{Share: 0.2, Rows: 0}
	f.cfg.Warehouse.KeepVersions = 2
	f.service.Advance(1)
	f.at = f.service.Now()
	return f
}

// lied runs a night in which a stream lies, and holds what it publishes to what it
// says of it. It reports whether the falsehood was told at all.
func (f *falseTrial) lied(t *testing.T, s stream.Stream, lie falsehood) bool {
	t.Helper()
	before := f.latest()
	f.liar.set(s, &lie)
	f.at = f.at.Add(time.Hour)
	res, err := pipeline.Run(t.Context(), f.cfg)
	told := f.liar.told
	f.liar.set(s, nil)
	if told == 0 {
		return false
	}
	if err != nil {
		f.outcomes["stopped"]++
		if f.latest() != before {
			t.Errorf("version %s was published with an error: %v", f.latest(), err)
		}
		return true
	}
	said := false
	proven := map[string]bool{}
	for _, one := range res.Run.Streams {
		proven[one.Stream] = one.Grade == string(fetch.Exact) || one.Grade == string(fetch.Repaired)
		said = said || !proven[one.Stream]
	}
	switch {
	case lie.later && before == "":
		f.outcomes["believed, for want of anything to compare it with"]++
		return true
	case said:
		f.outcomes["said so"]++
	default:
		f.outcomes["unharmed"]++
	}
	held := f.ref.now()
	for _, e := range f.ref.once() {
		if !slices.ContainsFunc(stream.FilledBy(f.cfg.Streams, e.table), func(name string) bool { return !proven[name] }) {
			compare(t, e, held, read(t, e, f.catalog(), "main."+e.table), e.table)
		}
	}
	return true
}

// requireUnharmed runs a healthy night, after which the warehouse must equal one
// that never met a falsehood: no row was ever closed or changed.
func (f *falseTrial) requireUnharmed(t *testing.T, history bool) {
	t.Helper()
	f.t = t
	f.sameDay()
	f.requireValues(f.ref)
	if !history {
		return
	}
	for _, table := range f.cfg.Warehouse.Tables {
		if n := f.count("past."+table.Name, "TRUE"); n != 0 {
			t.Errorf("%d rows of %s were closed, though nothing changed", n, table.Name)
		}
	}
	if n := f.count("meta.deletions", "TRUE"); n != 0 {
		t.Errorf("%d deletions, though nothing was deleted", n)
	}
}

// falseOnLaterNights tries a falsehood about streams, one night after the other. Each night
// is healthy for all streams but one. Apart, another night in which all are follows it;
// else one night follows them all: what was closed in any stays in the history.
func falseOnLaterNights(t *testing.T, lie falsehood, apart bool, names ...string) (nights int, outcomes map[string]int) {
	f := newFalseTrial(t, names...)
	f.sameDay()
	for _, s := range f.cfg.Streams {
		t.Run("later night/"+s.Name, func(t *testing.T) {
			f.t = t
			if !f.lied(t, s, lie) {
				return
			}
			if nights++; apart {
				f.requireUnharmed(t, true)
			}
		})
	}
	if !apart {
		t.Run("the night after", func(t *testing.T) { f.requireUnharmed(t, true) })
	}
	return nights, f.outcomes
}

// falseOnFirstNights tries a falsehood about streams, each in a new warehouse.
func falseOnFirstNights(t *testing.T, lie falsehood, streams []stream.Stream, names ...string) (nights int, outcomes map[string]int) {
	outcomes = map[string]int{}
	for _, s := range streams {
		t.Run("first night/"+s.Name, func(t *testing.T) {
			f := newFalseTrial(t, names...)
			if f.lied(t, s, lie) {
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

// TestTrialFalseAnswers is the short form of TestTortureFalseAnswers: every falsehood,
// about a list, a single record, a list under a parent, and status counts.
func TestTrialFalseAnswers(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	for _, lie := range falsehoods() {
		t.Run(lie.name, func(t *testing.T) {
			t.Parallel()
			names := []string{"cities", "campaigns", "campaign_details", "campaign_articles", "campaign_status_counts"}
			falseOnLaterNights(t, lie, false, names...)
			counts, _ := stream.Find(stream.All(), "campaign_status_counts")
			falseOnFirstNights(t, lie, []stream.Stream{counts}, names...)
		})
	}
}

// TestTortureFalseAnswers lets every endpoint answer with every falsehood, on a
// first and on a later night. No row is lost or changed without a grade that says
// so, none that is exact is wrong, and the healthy night that follows equals a
// warehouse that never met the falsehood.
func TestTortureFalseAnswers(t *testing.T) {
	requireTorture(t)
	for _, lie := range falsehoods() {
		t.Run(lie.name, func(t *testing.T) {
			var nights [2]int
			var outcomes [2]map[string]int
			defer keep(t, time.Now(), func() torture.Trial {
				return torture.Trial{Name: "False answers: " + lie.name, Runs: nights[0] + nights[1],
					Fault: fmt.Sprintf("every endpoint that can answer so, all night: %d first and %d later nights, a healthy one behind each", nights[0], nights[1]),
					Outcome: "later nights: " + describe(outcomes[1]) + "; 0 rows lost or changed without a grade that says so, 0 false exact; first nights: " +
						describe(outcomes[0])}
			})
			nights[1], outcomes[1] = falseOnLaterNights(t, lie, true)
			nights[0], outcomes[0] = falseOnFirstNights(t, lie, stream.All())
		})
	}
}

func describe(outcomes map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		parts = append(parts, fmt.Sprintf("%d %s", outcomes[name], name))
	}
	return strings.Join(parts, ", ")
}
