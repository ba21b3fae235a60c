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
	"sync"
	"time"

	"github.com/apache/iceberg-go/table"
)

// response is the response of a server to a commit. The zero value means no response.
type response struct {
	status int
	// isProtocolError is true if the body is an error of the REST protocol. Then the catalog sent the
	// response, not a proxy.
	isProtocolError bool
}

// isRejection reports whether the server certainly did not commit. After any other error response the
// server may have committed: a proxy may time out, or repeat a commit, which then conflicts with
// itself.
func (r response) isRejection() bool {
	const tokenExpired = 419 // Iceberg's REST protocol uses this status for an expired token
	return r.isProtocolError && slices.Contains([]int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden,
		http.StatusNotFound, tokenExpired, http.StatusUnprocessableEntity}, r.status)
}

// responseKey is the key of the *response in a context.
type responseKey struct{}

// recorder stores the response to a request in the *response in the context of the request, because the
// errors of iceberg-go do not contain the status.
type recorder struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := r.RoundTripper.RoundTrip(req)
	got, ok := req.Context().Value(responseKey{}).(*response)
	if err != nil || !ok {
		return res, err
	}
	*got = response{status: res.StatusCode}
	if res.StatusCode < http.StatusBadRequest {
		return res, nil
	}
	const maxBody = 1 << 20
	body, readErr := io.ReadAll(io.LimitReader(res.Body, maxBody))
	var problem struct {
		Error struct {
			Message, Type string
			Code          int
		}
	}
	got.isProtocolError = readErr == nil && json.Unmarshal(body, &problem) == nil && problem.Error.Type != "" && problem.Error.Code == res.StatusCode
	res.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(body), res.Body}
	return res, nil
}

// readBackTimeout limits the time for reading the tables after a commit, because a server that
// did not respond to the commit may not respond at all.
const readBackTimeout = 30 * time.Second

// checkCommit reads the tables after a commit. It returns no error if the tables show the
// commit. commitErr is the error of the commit, or nil if the server confirmed the commit.
func (c *restCatalog) checkCommit(ctx context.Context, changes []change, got response, commitErr error) (tagsKept bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readBackTimeout)
	defer cancel()
	after, readErr := c.compare(ctx, changes)
	switch {
	case readErr != nil && commitErr == nil:
		return false, unknownResult(fmt.Errorf("the server confirmed the commit, but its tables cannot be read: %w", readErr))
	case readErr != nil:
		return false, unknownResult(errors.Join(commitErr, readErr))
	case len(after.unapplied) == 0:
		return after.tagsKept, nil // also if a proxy lost the response
	case commitErr == nil:
		return false, &unknownResultError{fmt.Errorf("commit to the lake: the server confirmed the commit, but it is not visible in %s; no file was removed: "+
			"read the log of the server, then run \"placementsync lake publish\"", strings.Join(after.unapplied, ", "))}
	case got.status == http.StatusConflict && !after.isAnyApplied:
		return false, &conflictError{"a table", commitErr}
	}
	// A server that has not responded yet may still commit.
	return false, unknownResult(commitErr)
}

// commitState describes the tables in the catalog after a commit.
type commitState struct {
	// unapplied are the tables that do not show their change.
	unapplied []string
	// isAnyApplied is true if any table contains its new snapshot, even if another publisher committed
	// after this commit.
	isAnyApplied bool
	// tagsKept is true if each table has the tags of its change.
	tagsKept bool
}

// compare reads the tables and compares them with their changes.
func (c *restCatalog) compare(ctx context.Context, changes []change) (after commitState, err error) {
	after.tagsKept = true
	var mu sync.Mutex // guards after
	err = eachIndex(maxRequests, len(changes), func(i int) error {
		t, err := c.inner.LoadTable(ctx, c.cfg.identifier(changes[i].name))
		if err != nil {
			return fmt.Errorf("read %s: %w", changes[i].name, err)
		}
		base, got := changes[i].base, t.Metadata()
		want, err := table.UpdateTableMetadata(base.Metadata(), changes[i].updates, base.MetadataLocation())
		if err != nil {
			return fmt.Errorf("%s: %w", changes[i].name, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if !isShown(base.Metadata(), want, got) {
			after.unapplied = append(after.unapplied, changes[i].name.String())
		}
		after.isAnyApplied = after.isAnyApplied || currentSnapshotID(want) != currentSnapshotID(base.Metadata()) && got.SnapshotByID(currentSnapshotID(want)) != nil
		for name := range refNames(want) {
			after.tagsKept = after.tagsKept && refNames(got)[name]
		}
		return nil
	})
	slices.Sort(after.unapplied)
	return after, err
}

// isShown reports whether a table shows a change: it has the current snapshot and the night of the
// change, and lacks the tags that the change removes. base and want are the table before and after the
// change, and got is the table in the catalog. A catalog may also drop other tags.
func isShown(base, want, got table.Metadata) bool {
	for _, name := range []string{runProperty, timeProperty, snapshotProperty} {
		if got.Properties()[name] != want.Properties()[name] {
			return false
		}
	}
	refsBefore, refsAfter := refNames(base), refNames(want)
	for name := range refNames(got) {
		if refsBefore[name] && !refsAfter[name] {
			return false
		}
	}
	return currentSnapshotID(got) == currentSnapshotID(want)
}

func refNames(m table.Metadata) map[string]bool {
	names := map[string]bool{}
	for name := range m.Refs() {
		names[name] = true
	}
	return names
}

// currentSnapshotID returns the id of the snapshot that readers see, or 0.
func currentSnapshotID(m table.Metadata) int64 {
	if s := m.CurrentSnapshot(); s != nil {
		return s.SnapshotID
	}
	return 0
}
