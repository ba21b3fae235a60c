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

func TestSavedQuestions(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	s := newSite(t, "records.sql")
	if body := s.get(t, "/questions/client_spend", http.StatusOK); strings.Contains(body, "Save as my question") {
		t.Error("the page offers to save a question, want no offer without queries.dir")
	}
	s.queriesDir = t.TempDir()
	token := s.token(t)
	const question = "client_spend"
	form := func(name, title string) url.Values {
		return url.Values{"token": {token}, "name": {name}, "title": {title}, "p.by": {"month"}, "p.profile": {"Women's Health"}, "p.since": {""}}
	}
	sameOrigin := map[string]string{"Sec-Fetch-Site": "same-origin"}
	wantTexts(t, s.get(t, "/questions/"+question+"?p.by=month", http.StatusOK), "Save as my question", "Watch this", `by: month`, "key: [profile_name, outlet_name, month, profile_id, outlet_id]")

	// The form sends the parameters of the page, and the browser sends its origin.
	page := s.get(t, "/questions/"+question+"?p.by=month&as_of=2026-11-02", http.StatusOK)
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
	for _, c := range forgeries(token) {
		forged := form("forged", "Forged")
		forged.Set("token", c.token)
		res, body, err := s.postTo(t.Context(), "/questions/"+question, forged, c.headers)
		harness.Must(t, err)
		if res.StatusCode != http.StatusForbidden || !strings.Contains(body, "The question was not saved") {
			t.Errorf("%s: got status %d, want 403:\n%s", c.name, res.StatusCode, textOf(body))
		}
	}
	for _, c := range []struct{ name, title, problem string }{
		{"../escape", "Title", "is not a name of a query"},
		{"a.sql", "Title", "is not a name of a query"},
		{"", "Title", "is not a name of a query"},
		{strings.Repeat("a", 101), "Title", "is not a name of a query"},
		{"margins", "Title", "already named"},
		{"MARGINS", "Title", "already named"},
		{"mine", "", "is not a title"},
		{"mine", "Two\nlines", "is not a title"},
	} {
		res, body, err := s.postTo(t.Context(), "/questions/"+question, form(c.name, c.title), sameOrigin)
		harness.Must(t, err)
		if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(textOf(body), c.problem) {
			t.Errorf("%q, %q: got status %d, want 422 with %q:\n%s", c.name, c.title, res.StatusCode, c.problem, textOf(body))
		}
	}
	if entries, err := os.ReadDir(s.queriesDir); err != nil || len(entries) > 0 {
		t.Fatalf("the folder has the files %v (%v), want none", entries, err)
	}

	mine := form(" mine ", " My months ")
	mine.Set("as_of", "2026-11-02")
	res, body, err := s.postTo(t.Context(), "/questions/"+question, mine, sameOrigin)
	harness.Must(t, err)
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/explore/questions/mine?as_of=2026-11-02" {
		t.Fatalf("got status %d and %q, want a redirect to the question:\n%s", res.StatusCode, res.Header.Get("Location"), textOf(body))
	}
	saved := s.get(t, "/questions/mine", http.StatusOK)
	wantTexts(t, saved, "My months own", "-- param: profile VARCHAR? 'Women''s Health' --", "-- param: since DATE NULL --")
	if !strings.Contains(saved, `<option value="month" selected>`) {
		t.Errorf("the form of the saved question has not the saved value:\n%s", saved)
	}
	wantTexts(t, s.get(t, "/questions", http.StatusOK), "My months own")
	res, body, err = s.postTo(t.Context(), "/questions/"+question, form("mine", "Again"), sameOrigin)
	harness.Must(t, err)
	if res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a second question of the same name: got status %d, want 422:\n%s", res.StatusCode, textOf(body))
	}
	harness.Must(t, os.WriteFile(filepath.Join(s.queriesDir, "faulty.sql"), []byte("-- title: Faulty\n-- param: x\nSELECT $x"), 0o600))
	res, body, err = s.postTo(t.Context(), "/questions/"+question, form("faulty", "Again"), sameOrigin)
	harness.Must(t, err)
	if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(textOf(body), "already exists") {
		t.Errorf("the name of a file with mistakes: got status %d, want 422:\n%s", res.StatusCode, textOf(body))
	}
	for dir, want := range map[string]string{"": "Not saved The question was not saved: the configuration has no folder for questions Set queries.dir",
		filepath.Join(s.queriesDir, "gone"): "The user of the program needs the right to write to " + filepath.Join(s.queriesDir, "gone")} {
		s.queriesDir = dir
		res, body, err = s.postTo(t.Context(), "/questions/"+question, form("other", "Other"), sameOrigin)
		harness.Must(t, err)
		if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(textOf(body), want) {
			t.Errorf("the folder %q: got status %d, want 422 with %q:\n%s", dir, res.StatusCode, want, textOf(body))
		}
	}
}
