package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// restServer is a REST catalog with the endpoints that the lake uses, and with the faults of
// servers and proxies.
type restServer struct {
	mu     sync.Mutex // guards the other fields
	tables map[string]table.Metadata
	// missingEndpoints selects the endpoints that the server does not offer: all endpoints that contain
	// this text. Empty means that the server offers all endpoints.
	missingEndpoints string
	// commit, if set, responds to each commit. apply applies the commit to the given
	// number of tables, or to all tables if the number is allTables.
	commit func(w http.ResponseWriter, apply func(tableCount int))
	// load, if set, is called when a table is loaded. It returns true if it has responded.
	load func(w http.ResponseWriter) bool
}

const allTables = -1

// useRESTServer configures a lake with a REST catalog.
func (h *fixture) useRESTServer() *restServer {
	h.Helper()
	s := &restServer{tables: map[string]table.Metadata{}}
	web := httptest.NewServer(s)
	h.Cleanup(web.Close)
	h.write("key", "of-the-test") // used instead of the AWS keys of this machine
	h.write("config.yaml", "warehouse: {dir: ./warehouse, keep_versions: 9, memory_limit: 256MB, threads: 1}\n"+
		"lake: {catalog: rest, warehouse: ./lake, keep_nights: 2, rest: {uri: "+web.URL+"}}\n"+
		"s3: {access_key_file: key, secret_key_file: key}\n")
	return s
}

func (s *restServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/v1/config":
		endpoints := slices.DeleteFunc([]string{"GET /v1/{prefix}/namespaces/{namespace}", "HEAD /v1/{prefix}/namespaces/{namespace}",
			"POST /v1/{prefix}/namespaces", "GET /v1/{prefix}/namespaces/{namespace}/tables", "POST /v1/{prefix}/namespaces/{namespace}/tables",
			"GET /v1/{prefix}/namespaces/{namespace}/tables/{table}", "DELETE /v1/{prefix}/namespaces/{namespace}/tables/{table}",
			"POST /v1/{prefix}/transactions/commit"}, func(e string) bool { return s.missingEndpoints != "" && strings.Contains(e, s.missingEndpoints) })
		respondJSON(w, map[string]any{"defaults": map[string]string{}, "overrides": map[string]string{}, "endpoints": endpoints})
	case r.URL.Path == "/v1/transactions/commit":
		s.serveCommit(w, r)
	case len(parts) == 2: // create a namespace
		respondJSON(w, map[string]any{"namespace": []string{"x"}, "properties": map[string]string{}})
	case len(parts) == 3: // check a namespace
		w.WriteHeader(http.StatusNoContent)
	case len(parts) == 4 && r.Method == http.MethodGet:
		identifiers := []map[string]any{}
		for identifier := range s.tables {
			if namespace, name, _ := strings.Cut(identifier, "."); namespace == parts[2] {
				identifiers = append(identifiers, map[string]any{"namespace": []string{namespace}, "name": name})
			}
		}
		respondJSON(w, map[string]any{"identifiers": identifiers})
	case len(parts) == 4:
		s.createTable(w, r, parts[2])
	case r.Method == http.MethodDelete:
		delete(s.tables, parts[2]+"."+parts[4])
		w.WriteHeader(http.StatusNoContent)
	case s.load == nil || !s.load(w):
		s.serveTable(w, parts[2]+"."+parts[4])
	}
}

func respondJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// hostile contains control characters for a terminal.
const hostile = "\x1b[2J\u202e"

// writeError responds with an error of the protocol.
func writeError(w http.ResponseWriter, status int) {
	w.WriteHeader(status)
	respondJSON(w, map[string]any{"error": map[string]any{"message": "no" + hostile, "type": "RefusedException", "code": status}})
}

func (s *restServer) serveTable(w http.ResponseWriter, name string) {
	m, ok := s.tables[name]
	if !ok {
		writeError(w, http.StatusNotFound)
		return
	}
	respondJSON(w, map[string]any{"metadata-location": m.Location() + "/metadata/00000-x.metadata.json", "metadata": m, "config": map[string]string{}})
}

func (s *restServer) createTable(w http.ResponseWriter, r *http.Request, namespace string) {
	var in struct {
		Name       string
		Schema     *iceberg.Schema
		Location   string
		Properties iceberg.Properties
	}
	err := json.NewDecoder(r.Body).Decode(&in)
	var m table.Metadata
	if err == nil {
		m, err = table.NewMetadata(in.Schema, iceberg.UnpartitionedSpec, table.UnsortedSortOrder, in.Location, in.Properties)
	}
	if err != nil {
		panic(err)
	}
	s.tables[namespace+"."+in.Name] = m
	s.serveTable(w, namespace+"."+in.Name)
}

func (s *restServer) serveCommit(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Changes []struct {
			Identifier struct {
				Namespace []string
				Name      string
			}
			Requirements table.Requirements
			Updates      table.Updates
		} `json:"table-changes"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		panic(err)
	}
	apply := func(tableCount int) {
		for _, c := range in.Changes {
			for _, requirement := range c.Requirements {
				if err := requirement.Validate(s.tables[c.Identifier.Namespace[0]+"."+c.Identifier.Name]); err != nil {
					writeError(w, http.StatusConflict)
					return
				}
			}
		}
		for i, c := range in.Changes {
			if i == tableCount {
				return
			}
			name := c.Identifier.Namespace[0] + "." + c.Identifier.Name
			m, err := table.UpdateTableMetadata(s.tables[name], c.Updates, "")
			if err != nil {
				panic(err)
			}
			s.tables[name] = m
		}
	}
	if s.commit != nil {
		s.commit(w, apply)
		return
	}
	apply(allTables)
	w.WriteHeader(http.StatusNoContent)
}

// TestUnexpectedCommitResponses returns unexpected responses to a commit. The publish must then
// read the tables back, and keep the files of a night that may be visible.
func TestUnexpectedCommitResponses(t *testing.T) {
	h := newFixture(t, 1)
	s := h.useRESTServer()
	first := h.publish()[0].Run
	h.requireEqualTables(first)
	respondAsProxy := func(status, tableCount int) func(http.ResponseWriter, func(int)) {
		return func(w http.ResponseWriter, apply func(int)) {
			apply(tableCount)
			w.WriteHeader(status)
			fmt.Fprint(w, "<html>proxy</html>")
		}
	}
	second := h.night()
	for _, status := range []int{http.StatusTooManyRequests, 524} {
		s.commit = respondAsProxy(status, 0)
		h.mustFail(1, fmt.Sprintf("the server returned status %d", status), "publish")
	}
	s.commit = respondAsProxy(http.StatusConflict, 0)
	h.mustFail(1, "another publisher", "publish")
	const someTables = 20 // another publisher changed the others after the commit
	s.commit = respondAsProxy(http.StatusConflict, someTables)
	h.mustFail(1, "the night is in the lake completely or not at all", "publish")
	s.commit = respondAsProxy(http.StatusConflict, allTables) // a proxy repeats a commit that was applied
	if p := h.publish(); p[0].Run != second || p[0].AlreadyPublished {
		t.Errorf("published %+v, want %s", p, second)
	}
	h.requireEqualTables(h.shownRun())
}

// TestRejectedCommitRemovesItsFiles rejects commits. The files must be removed if the response
// came from the server, and kept if it came from a proxy.
func TestRejectedCommitRemovesItsFiles(t *testing.T) {
	h := newFixture(t, 1)
	s := h.useRESTServer()
	h.publish()
	h.night()
	before := h.filesOfLake()
	for _, status := range []int{http.StatusBadRequest, http.StatusConflict} {
		s.commit = func(w http.ResponseWriter, _ func(int)) { writeError(w, status) }
		h.mustFail(1, `RefusedException: no\x1b[2J\u202e`, "publish")
		if after := h.filesOfLake(); !slices.Equal(after, before) {
			t.Errorf("status %d: the lake has %d files, want %d as before the publish", status, len(after), len(before))
		}
	}
	s.commit = func(w http.ResponseWriter, _ func(int)) { http.Error(w, "forbidden by a proxy", http.StatusForbidden) }
	h.mustFail(1, "the night is in the lake completely or not at all", "publish")
	if after := h.filesOfLake(); len(after) == len(before) {
		t.Error("the files of a night that may be visible were removed")
	}
}

// TestSimultaneousPublishToServerFails publishes the same night twice at the same time. One
// publish must succeed and the other must fail, even if both make the same change to an unchanged table.
func TestSimultaneousPublishToServerFails(t *testing.T) {
	h := newFixture(t, 1)
	s := h.useRESTServer()
	h.publish()
	second := h.night()
	s.commit = func(_ http.ResponseWriter, apply func(int)) {
		s.commit = nil
		s.mu.Unlock()
		h.publish()
		s.mu.Lock()
		apply(allTables) // the server refuses the commit, because the requirements are no longer met
	}
	h.mustFail(1, "another publisher", "publish")
	if run := h.shownRun(); run != second {
		t.Errorf("the lake shows %s, want %s", run, second)
	}
}

// TestFalseCommitConfirmations confirms a commit that was not applied, a commit that was applied to
// some of its tables, and a commit whose tables cannot be read back. The publish must fail.
func TestFalseCommitConfirmations(t *testing.T) {
	h := newFixture(t, 1)
	s := h.useRESTServer()
	h.publish()
	h.night()
	for _, tableCount := range []int{0, 3} {
		s.commit = func(w http.ResponseWriter, apply func(int)) { apply(tableCount); w.WriteHeader(http.StatusNoContent) }
		h.mustFail(1, "the server confirmed the commit, but ", "publish")
	}
	s.commit = nil
	h.publish()
	h.requireEqualTables(h.shownRun())
	h.night()
	s.commit = func(w http.ResponseWriter, apply func(int)) {
		apply(allTables)
		w.WriteHeader(http.StatusNoContent)
		s.load = func(w http.ResponseWriter) bool { writeError(w, http.StatusForbidden); return true }
	}
	h.mustFail(1, "the server confirmed the commit, but its tables cannot be read", "publish")
	s.load = nil
	if p := h.publish(); !p[0].AlreadyPublished {
		t.Errorf("published %+v, want already published", p)
	}
	h.requireEqualTables(h.shownRun())
}

// TestServerWithoutTransactionsIsRefused removes an endpoint that publish needs. publish and
// check must fail before they create a namespace or table.
func TestServerWithoutTransactionsIsRefused(t *testing.T) {
	h := newFixture(t, 1)
	s := h.useRESTServer()
	s.missingEndpoints = "transactions"
	for _, command := range []string{"publish", "check"} {
		h.mustFail(1, "cannot commit several tables in one step", command)
	}
	if folders, _ := filepath.Glob(h.path("lake/*")); len(folders)+len(s.tables) > 0 {
		t.Errorf("the namespaces %v and %d tables were created, want none", folders, len(s.tables))
	}
}
