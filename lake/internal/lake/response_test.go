package lake

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"placementsync/internal/bucket"
	"placementsync/internal/stream"
)

// The values of the parameter isApplied of commitTo.
const applied, notApplied = true, false

// commitTo commits a change of one table to a server. serve handles the commit. When the table is read
// back, the server shows the table after the change if isApplied is set, and otherwise before the change.
func commitTo(t *testing.T, isApplied bool, serve http.HandlerFunc) error {
	t.Helper()
	m, err := newMetadata(stream.Definition{}, "file:///x/p_current/a")
	if err != nil {
		t.Fatal(err)
	}
	ch := change{name: tableName{current, "a"}, base: table.New(table.Identifier{"p_current", "a"}, m, "x", nil, nil),
		updates: []table.Update{table.NewSetPropertiesUpdate(iceberg.Properties{runProperty: "20261101T020000Z"})}}
	if isApplied {
		if m, err = table.UpdateTableMetadata(m, ch.updates, "x"); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/v1/config"):
			fmt.Fprint(w, `{"defaults":{},"overrides":{},"endpoints":["POST /v1/{prefix}/transactions/commit","GET /v1/{prefix}/namespaces/{namespace}/tables/{table}"]}`)
		case r.Method == http.MethodPost:
			serve(w, r)
		default:
			text, err := json.Marshal(m)
			fmt.Fprintf(w, `{"metadata-location":"file:///x/m.json","metadata":%s,"config":{}}`, text)
			if err != nil {
				t.Error(err)
			}
		}
	}))
	defer server.Close()
	cfg := Config{Catalog: RESTful, Name: "x", Namespace: "p", REST: REST{URI: server.URL}, S3: bucket.Config{Stall: 2 * time.Second}}
	f, err := openFiles(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	c, err := openREST(t.Context(), cfg, f)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.commit(t.Context(), []change{ch})
	return errors.Join(err, c.close())
}

// TestOnlyProtocolErrorsAreRejections checks the errors of failed commits. Only an error of the REST
// protocol can be a rejection, and only with some statuses, such as 400. After any other response the
// commit may have been applied. commit returns no error if the tables then show the commit. Otherwise it
// returns a conflictError for status 409, and an unknownResultError for other statuses.
func TestOnlyProtocolErrorsAreRejections(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 408, 409, 419, 422, 429, 499, 500, 501, 502, 503, 504, 507, 520, 522, 524} {
		for _, isProtocolError := range []bool{false, true} {
			serve := func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				if isProtocolError {
					fmt.Fprintf(w, `{"error":{"message":"no","type":"RefusedException","code":%d}}`, status)
				} else {
					fmt.Fprint(w, "<html>proxy</html>")
				}
			}
			isRejection := isProtocolError && (response{status, true}).isRejection()
			var wantConflict, wantUnknown bool // a rejection is a plain error
			switch {
			case status == http.StatusConflict:
				wantConflict = true
			case !isRejection:
				wantUnknown = true
			}
			err := commitTo(t, notApplied, serve)
			conflict, unknown := errors.As(err, new(*conflictError)), errors.As(err, new(*unknownResultError))
			if conflict != wantConflict || unknown != wantUnknown {
				t.Errorf("status %d, protocol error %t: conflictError %t, unknownResultError %t; want %t, %t",
					status, isProtocolError, conflict, unknown, wantConflict, wantUnknown)
			}
			if err == nil || !strings.Contains(err.Error(), fmt.Sprint("status ", status)) {
				t.Errorf("status %d, protocol error %t: got %v, want an error that names the status", status, isProtocolError, err)
			}
			if err := commitTo(t, applied, serve); (err == nil) == isRejection {
				t.Errorf("status %d after an applied commit: got %v, want an error: %v", status, err, isRejection)
			}
		}
	}
}

func TestConfirmedCommitIsReadBack(t *testing.T) {
	serve := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }
	if err := commitTo(t, applied, serve); err != nil {
		t.Errorf("a confirmed commit that was applied: got %v, want no error", err)
	}
	if err := commitTo(t, notApplied, serve); !errors.As(err, new(*unknownResultError)) || !strings.Contains(err.Error(), "but it is not visible in current.a") {
		t.Errorf("a confirmed commit that was not applied: got %v, want a *unknownResultError", err)
	}
}

func TestCommitWithoutResponseIsUnknown(t *testing.T) {
	err := commitTo(t, notApplied, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices a closed connection only after it has read the body
		<-r.Context().Done()
	})
	if !errors.As(err, new(*unknownResultError)) {
		t.Errorf("got %v, want an *unknownResultError", err)
	}
}
