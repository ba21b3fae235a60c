package sim_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/sim"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
)

// requiredScopes returns the required scopes by path, as in the table of spec 4.2, with which package stream compares its
// streams. TestRoutesRequireScopes also tests routes that are not in the result.
func requiredScopes() map[string][]string {
	scopes := map[string][]string{"/files/{id}": {"files.read"}, "/files/{id}/download": {"files.read"}} // no stream reads these
	for _, s := range stream.All() {
		if len(s.Scopes) > 0 {
			scopes[s.Path] = s.Scopes
		}
	}
	return scopes
}

func TestMissingScopeForbidsOnlyItsRoutes(t *testing.T) {
	harness.Slow(t)
	paths := samplePaths(t, sim.New(sim.Options{}), 1)
	var allScopes []string
	for _, scopes := range requiredScopes() {
		allScopes = append(allScopes, scopes...)
	}
	slices.Sort(allScopes)
	allScopes = slices.Compact(allScopes)
	for _, missing := range allScopes {
		others := slices.DeleteFunc(slices.Clone(allScopes), func(scope string) bool { return scope == missing })
		s := serve(t, sim.Options{Scopes: others, TokenType: "custom"})
		for pattern, needed := range requiredScopes() {
			want := http.StatusOK
			if slices.Contains(needed, missing) {
				want = http.StatusForbidden
			}
			if got := s.get(paths[pattern][0]).status; got != want {
				t.Errorf("without %s: GET %s: status %d, want %d", missing, pattern, got, want)
			}
		}
	}
}

func TestRoutesRequireScopes(t *testing.T) {
	s := serve(t, sim.Options{Scopes: []string{}, TokenType: "custom"})
	for pattern, paths := range samplePaths(t, s.service, 1) {
		want := http.StatusForbidden
		if pattern == "/auth/token" {
			want = http.StatusOK
		}
		if got := s.get(paths[0]).status; got != want {
			t.Errorf("GET %s: status %d, want %d: define its scopes in internal/sim/routes.go", pattern, got, want)
		}
	}
}

func TestTokenTypes(t *testing.T) {
	paths := samplePaths(t, sim.New(sim.Options{}), 1)
	article := paths["/articles/{id}"][0]
	for name, tc := range map[string]struct {
		opts sim.Options
		want int
	}{
		"read_only reads an article within its scopes":             {sim.Options{}, http.StatusOK},
		"with ArticleNeedsFullAccess an article needs full access": {sim.Options{ArticleNeedsFullAccess: true}, http.StatusForbidden},
		"full access needs no scope": {
			sim.Options{TokenType: "full_access", Scopes: []string{}, ArticleNeedsFullAccess: true}, http.StatusOK,
		},
		"a token without scopes reads nothing": {sim.Options{Scopes: []string{}}, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, tc.opts)
			got := s.get(article)
			if got.status != tc.want {
				t.Errorf("got status %d, want %d", got.status, tc.want)
			}
			namesType := strings.Contains(string(got.body), "full_access")
			wantName := tc.opts.ArticleNeedsFullAccess && tc.want == http.StatusForbidden
			if namesType != wantName {
				t.Errorf("got the response %s, want one that names the type full_access: %t", got.body, wantName)
			}
			if got := s.get("/auth/token").status; got != http.StatusOK {
				t.Errorf("GET /auth/token: got status %d, want 200", got)
			}
		})
	}
}

func TestWrongTokensAreUnauthorized(t *testing.T) {
	s := serve(t, sim.Options{Token: "pc_right"})
	for token, want := range map[string]int{
		"": 401, "pc_wrong": 401, "right": 401, "PC_RIGHT": 401,
		"pc_right ": 200, // a trailing blank is not part of the header's value
	} {
		if got, err := s.request(http.MethodGet, "/tags", token); err != nil || got.status != want {
			t.Errorf("token %q: got status %d, %v, want %d", token, got.status, err, want)
		}
	}
}

func TestWritesAreRejectedAndCounted(t *testing.T) {
	s := serve(t, sim.Options{})
	writeMethods := []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	for _, method := range writeMethods {
		if got, err := s.request(method, "/campaigns", "pc_demo"); err != nil || got.status != http.StatusMethodNotAllowed {
			t.Errorf("%s: got status %d, %v, want 405", method, got.status, err)
		}
	}
	s.get("/campaigns?limit=2")
	var want []sim.Request
	for _, method := range writeMethods {
		want = append(want, sim.Request{Method: method, Path: "/campaigns", Route: "/campaigns", Status: 405})
	}
	want = append(want, sim.Request{Method: "GET", Path: "/campaigns?limit=2", Route: "/campaigns", Status: 200})
	if log := s.service.Requests(); !slices.Equal(log, want) {
		t.Errorf("the request log is %+v, want %+v", log, want)
	}
	s.service.ResetRequests()
	if got := len(s.service.Requests()); got != 0 {
		t.Errorf("got %d requests after the reset, want 0", got)
	}
}

func TestServeUntilStop(t *testing.T) {
	service := sim.New(sim.Options{})
	baseURL, stop, err := service.Serve()
	if err != nil {
		t.Fatal(err)
	}
	s := testServer{t, service, baseURL}
	if got := s.get("/tags").status; got != http.StatusOK {
		t.Errorf("got status %d, want 200", got)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := s.request(http.MethodGet, "/tags", "pc_demo"); err == nil {
		t.Error("the service responded after stop, want a connection error")
	}
}
