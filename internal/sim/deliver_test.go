package sim_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/sim"
)

// TestDeliveriesAreSigned compares the signature with the output of "openssl dgst -sha256 -hmac".
func TestDeliveriesAreSigned(t *testing.T) {
	var received *http.Request
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	d := sim.Delivery{ID: "e", Topic: "t", Source: "s", Body: []byte(`{"a":1}`)}
	status, err := sim.Deliver(t.Context(), server.Client(), server.URL, d, "key", "other")
	if err != nil || status != http.StatusAccepted {
		t.Fatalf("got status %d, %v, want 202", status, err)
	}
	const want = "v0=88a67f24bbcdaed0e6c997404bb79a743baf44c6bab2f4c27328e3009d22e342," +
		"v0=6d5318f92e5561f77c1b686ef4a062a4a6504dcd982edac901b8e395de2db6e4"
	if diff := cmp.Diff(want, received.Header.Get("x-hook-signature")); diff != "" {
		t.Errorf("signature (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"event-id": "e", "topic": "t", "source": "s", "timestamp": ""} {
		if got := received.Header.Get("x-hook-" + name); got != want {
			t.Errorf("the header x-hook-%s is %q, want %q", name, got, want)
		}
	}
	if diff := cmp.Diff(`{"a":1}`, string(body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

func TestIDsAndBodiesOfEvents(t *testing.T) {
	s := sim.New(sim.Options{Seed: 7})
	s.Advance(3)
	articleID := findCommentedArticle(t, s)
	statusEvent, err := s.StatusChange(articleID)
	if err != nil {
		t.Fatal(err)
	}
	commentEvent, err := s.CommentChange("comment.archived", articleID, 0)
	if err != nil {
		t.Fatal(err)
	}
	repeated, err := s.CommentChange("comment.archived", articleID, 0)
	if err != nil || repeated.ID != commentEvent.ID || statusEvent.ID == commentEvent.ID {
		t.Errorf("the comment event has the id %q and then %q (%v), and the status event %q; want one id for the comment event and another for the status event", commentEvent.ID, repeated.ID, err, statusEvent.ID)
	}
	var body struct {
		ID      string `json:"id"`
		Content struct {
			Type string `json:"type"`
		} `json:"content"`
		Author map[string]string `json:"author"`
	}
	if err := json.Unmarshal(commentEvent.Body, &body); err != nil || body.Content.Type != "doc" || body.ID == "" || len(body.Author) != 1 {
		t.Errorf("got the body %s, %v, want an id, a document and an author with only a name", commentEvent.Body, err)
	}
	if _, err := s.StatusChange("none"); err == nil {
		t.Error("StatusChange of an unknown article returned no error, want one")
	}
}

// findCommentedArticle returns the id of an article with a comment.
func findCommentedArticle(t *testing.T, s *sim.Service) string {
	t.Helper()
	for _, raw := range s.Records("/order-items") {
		var item struct {
			Article string `json:"article_id"`
		}
		decode(t, raw, &item)
		if item.Article == "" {
			continue
		}
		if comments := s.Records("/articles/" + item.Article + "/comments"); len(comments) > 0 {
			return item.Article
		}
	}
	t.Fatal("no article has a comment")
	return ""
}
