package explore_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"placementsync/internal/testing/harness"
)

// testSavedQuestions saves a question under another name. The tests of package query save copies with wrong names.
func testSavedQuestions(t *testing.T, s *site) {
	if body := s.get(t, "/questions/client_spend", http.StatusOK); strings.Contains(body, "Save as my question") {
		t.Error("the page offers to save a question, want no offer without queries.dir")
	}
	s.queriesDir = t.TempDir()
	defer func() { s.queriesDir = "" }()
	token := s.token(t)
	save := func(name, token, site string, status int) (*http.Response, string) {
		t.Helper()
		form := url.Values{"token": {token}, "name": {name}, "title": {" My months "}, "p.by": {"month"}, "p.profile": {"Women's Health"},
			"p.since": {""}, "as_of": {"2026-11-02"}}
		res, body, err := s.postTo(t.Context(), "/questions/client_spend", form, map[string]string{"Sec-Fetch-Site": site})
		harness.Must(t, err)
		if res.StatusCode != status {
			t.Errorf("%s: got status %d, want %d:\n%s", name, res.StatusCode, status, textOf(body))
		}
		return res, textOf(body)
	}
	// The form sends the parameters of the page, and the browser sends its origin.
	page := s.get(t, "/questions/client_spend?p.by=month&as_of=2026-11-02", http.StatusOK)
	wantTexts(t, page, "Watch this", `by: month`, "key: [profile_name, outlet_name, month, profile_id, outlet_id]")
	_, saveForm, _ := strings.Cut(page, `<form method="post"`)
	for _, want := range []string{`name="p.by" value="month"`, `name="as_of" value="2026-11-02"`,
		`name="name" value="my_client_spend"`} {
		if !strings.Contains(saveForm, want) {
			t.Errorf("the form that saves the question lacks %s:\n%s", want, saveForm)
		}
	}
	for address, body := range map[string]string{"the question": page, "/sql": s.get(t, "/sql", http.StatusOK)} {
		if !strings.Contains(body, `<meta name="referrer" content="same-origin">`) {
			t.Errorf("the page %s does not let the browser send its origin with the form", address)
		}
	}
	for site, token := range map[string]string{"cross-site": token, "same-origin": ""} {
		if _, text := save("forged", token, site, http.StatusForbidden); !strings.Contains(text, "The question was not saved") {
			t.Errorf("a forged form from %s returned %s", site, text)
		}
	}
	if _, text := save("../escape", token, "same-origin", http.StatusUnprocessableEntity); !strings.Contains(text, "is not a name of a query") {
		t.Errorf("a name with a path returned %s", text)
	}
	if entries, err := os.ReadDir(s.queriesDir); err != nil || len(entries) > 0 {
		t.Fatalf("the folder has the files %v (%v), want none", entries, err)
	}
	res, _ := save(" mine ", token, "same-origin", http.StatusSeeOther)
	if got := res.Header.Get("Location"); got != "/explore/questions/mine?as_of=2026-11-02" {
		t.Errorf("the page leads to %q, want the saved question", got)
	}
	saved := s.get(t, "/questions/mine", http.StatusOK)
	wantTexts(t, saved, "My months own", "-- param: profile VARCHAR? 'Women''s Health' --", "-- param: since DATE NULL --")
	if !strings.Contains(saved, `<option value="month" selected>`) {
		t.Errorf("the form of the saved question has not the saved value:\n%s", saved)
	}
	for dir, want := range map[string]string{"": "Not saved The question was not saved: the configuration has no folder for questions Set queries.dir",
		filepath.Join(s.queriesDir, "gone"): "The user of the program needs the right to write to " + filepath.Join(s.queriesDir, "gone")} {
		s.queriesDir = dir
		if _, text := save("other", token, "same-origin", http.StatusUnprocessableEntity); !strings.Contains(text, want) {
			t.Errorf("the folder %q: got %s, want %q", dir, text, want)
		}
	}
}
