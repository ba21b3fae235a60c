package lake

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go/table"
)

// answer is what a server answered to a commit. The zero value: nothing.
type answer struct {
	status int
	// inProtocol says that the body is an error of the protocol, so that the server wrote
	// it, and no proxy before it.
	inProtocol bool
}

// isRefusal reports whether the server says that it did not commit. After any other
// error it may have: a proxy gives up, or sends a commit again, which then conflicts with
// itself.
func (a answer) isRefusal() bool {
	const expired = 419
	return a.inProtocol && slices.Contains([]int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden,
		http.StatusNotFound, expired, http.StatusUnprocessableEntity}, a.status)
}

// answerKey is the key under which a context has the *answer to fill.
type answerKey struct{}

// recorder fills the answer of a request. The errors of iceberg-go do not have it.
type recorder struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := r.RoundTripper.RoundTrip(req)
	got, ok := req.Context().Value(answerKey{}).(*answer)
	if err != nil || !ok {
		return res, err
	}
	*got = answer{status: res.StatusCode}
	if res.StatusCode < http.StatusBadRequest {
		return res, nil
	}
	const most = 1 << 20
	body, readErr := io.ReadAll(io.LimitReader(res.Body, most))
	var said struct {
		Error struct {
			Message, Type string
			Code          int
		}
	}
	got.inProtocol = readErr == nil && json.Unmarshal(body, &said) == nil && said.Error.Type != "" && said.Error.Code == res.StatusCode
	res.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(body), res.Body}
	return res, nil
}

// readBackLimit bounds how long tables are read after a commit: a server that does not
// answer does not answer these questions either.
const readBackLimit = 30 * time.Second

// findOut compares the tables with a commit that the server confirmed, where err is nil,
// or did not answer with a clear refusal.
func (c *restCatalog) findOut(ctx context.Context, changes []change, got answer, err error) error {
	ctx, cancel := context.WithTimeout(ctx, readBackLimit)
	defer cancel()
	missing, begun, readErr := c.compare(ctx, changes)
	switch {
	case readErr != nil && err == nil:
		return &UnknownError{fmt.Errorf("the server confirmed it, and its tables cannot be read back: %w", readErr)}
	case readErr != nil:
		return &UnknownError{errors.Join(err, readErr)}
	case len(missing) == 0:
		return nil // also where a proxy lost the answer
	case err == nil:
		return &FalseError{missing}
	case got.status == http.StatusConflict && !begun:
		return &ConflictError{"a table", err}
	}
	// What does not answer yet may still commit.
	return &UnknownError{err}
}

// compare returns the tables that do not show their change, and whether any has a snapshot
// of the commit, whoever came later. What has none may be the same as that of another
// publisher of the night.
func (c *restCatalog) compare(ctx context.Context, changes []change) (missing []string, begun bool, err error) {
	shows, has := make([]bool, len(changes)), make([]bool, len(changes))
	err = eachOf(requests, indexes(changes), func(i int) error {
		t, err := c.inner.LoadTable(ctx, c.cfg.identifier(changes[i].name))
		if err != nil {
			return fmt.Errorf("read %s: %w", changes[i].name, err)
		}
		base, now := changes[i].base, t.Metadata()
		want, err := table.UpdateTableMetadata(base.Metadata(), changes[i].updates, base.MetadataLocation())
		if err != nil {
			return fmt.Errorf("%s: %w", changes[i].name, err)
		}
		shows[i] = isShown(base.Metadata(), want, now)
		has[i] = mainOf(want) != mainOf(base.Metadata()) && now.SnapshotByID(mainOf(want)) != nil
		return nil
	})
	for i, ch := range changes {
		if !shows[i] {
			missing = append(missing, ch.name.String())
		}
		begun = begun || has[i]
	}
	return missing, begun, err
}

// isShown reports whether a table is as a change makes it of its base: the snapshot that
// readers see, the night, and no tag that the change removes. A catalog may drop other tags.
func isShown(base, want, now table.Metadata) bool {
	for _, name := range []string{runProperty, timeProperty, snapshotProperty} {
		if now.Properties()[name] != want.Properties()[name] {
			return false
		}
	}
	before, after := refNames(base), refNames(want)
	for name := range refNames(now) {
		if before[name] && !after[name] {
			return false
		}
	}
	return mainOf(now) == mainOf(want)
}

func refNames(m table.Metadata) map[string]bool {
	names := map[string]bool{}
	for name := range m.Refs() {
		names[name] = true
	}
	return names
}

// mainOf is the id of the snapshot that readers see; 0: none.
func mainOf(m table.Metadata) int64 {
	if s := m.CurrentSnapshot(); s != nil {
		return s.SnapshotID
	}
	return 0
}

// FalseError says that a server confirmed a commit that its tables do not show.
type FalseError struct{ Tables []string }

func (e *FalseError) Error() string {
	return fmt.Sprintf("commit to the lake: the server confirmed and did not commit: %s; no file was removed: "+
		"look at the log of the server, and try again", strings.Join(e.Tables, ", "))
}
