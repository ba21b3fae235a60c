package lake

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go"
	icebergcatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"placementsync/internal/stream"
)

// REST is the server of a REST catalog.
type REST struct {
	URI, Warehouse, OAuthURI, Scope string
	// Token is a bearer token. Credential is client_id:client_secret. Both may be empty.
	Token, Credential string
	// With SigningName and SigningRegion, requests are signed with AWS Signature Version 4.
	SigningName, SigningRegion string
}

type restCatalog struct {
	cfg   Config
	inner *rest.Catalog
	files *files
	// storageCtx is the context in which the files of a table are opened.
	storageCtx context.Context
}

func openREST(ctx context.Context, cfg Config, f *files) (*restCatalog, error) {
	r := cfg.REST
	options := []rest.Option{
		rest.WithAdditionalProps(storageProperties(cfg)), rest.WithWarehouseLocation(r.Warehouse),
		rest.WithOAuthToken(r.Token), rest.WithCredential(r.Credential), rest.WithScope(r.Scope),
		rest.WithTransportFactory(func(*tls.Config) (http.RoundTripper, func()) {
			t := cfg.S3.Transport()
			return recorder{t}, t.CloseIdleConnections
		}),
	}
	if r.OAuthURI != "" {
		u, err := url.Parse(r.OAuthURI)
		if err != nil {
			return nil, errors.New("open the catalog of the lake: lake.rest.oauth_uri is not a URL")
		}
		options = append(options, rest.WithAuthURI(u))
	}
	if r.SigningName != "" {
		options = append(options, rest.WithSigV4RegionSvc(r.SigningRegion, r.SigningName))
	}
	inner, err := rest.NewCatalog(ctx, cfg.Name, cfg.REST.URI, options...)
	if err != nil {
		return nil, fmt.Errorf("open the catalog of the lake at %s: %w: check lake.rest.uri and the credentials", cfg.REST.URI, err)
	}
	// This call sends no request: iceberg-go checks for the endpoint first, and then rejects
	// a commit without a table.
	if err := inner.CommitTransaction(ctx, []table.TableCommit{{}}); errors.Is(err, rest.ErrEndpointNotSupported) {
		return nil, errors.Join(fmt.Errorf("open the catalog of the lake at %s: the server cannot commit several tables in one step (POST transactions/commit), "+
			"so readers could see a part of a night; nothing was changed: use another catalog", cfg.REST.URI), inner.Close())
	}
	return &restCatalog{cfg, inner, f, context.WithoutCancel(ctx)}, nil
}

func (c *restCatalog) close() error { return c.inner.Close() }

// wrap returns the table with the storage that the server configured for it. The returned table
// records each written file in c.files.
func (c *restCatalog) wrap(t *table.Table) (*table.Table, error) {
	store, err := t.FS(c.storageCtx)
	if err != nil {
		return nil, err
	}
	f := *c.files
	f.WriteFileIO = store.(icebergio.WriteFileIO) // all storage of iceberg-go is writable
	_, f.local = store.(icebergio.LocalFS)
	return table.New(t.Identifier(), t.Metadata(), t.MetadataLocation(), func(context.Context) (icebergio.IO, error) { return &f, nil }, c.inner), nil
}

func (c *restCatalog) load(ctx context.Context) (tables, error) {
	var names []tableName
	for _, part := range parts() {
		namespace := c.cfg.namespace(part)
		exists, err := c.inner.CheckNamespaceExists(ctx, table.Identifier{namespace})
		if err != nil {
			return nil, fmt.Errorf("read the catalog of the lake: %w", err)
		}
		if !exists {
			continue
		}
		for identifier, err := range c.inner.ListTables(ctx, table.Identifier{namespace}) {
			if err != nil {
				return nil, fmt.Errorf("read the catalog of the lake: %w", err)
			}
			names = append(names, tableName{part, icebergcatalog.TableNameFromIdent(identifier)})
		}
	}
	return loadEach(c.files.workers(), names, func(i int) (*table.Table, error) {
		t, err := c.loadTable(ctx, names[i])
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", names[i], err)
		}
		return t, nil
	})
}

func (c *restCatalog) loadTable(ctx context.Context, n tableName) (*table.Table, error) {
	t, err := c.inner.LoadTable(ctx, c.cfg.identifier(n))
	if err != nil {
		return nil, err
	}
	return c.wrap(t)
}

// newTable creates the table, because a commit of several tables cannot create a table. The server
// assigns field ids of its own. The first night replaces these ids.
func (c *restCatalog) newTable(ctx context.Context, n tableName, def stream.Definition) (*table.Table, error) {
	namespace := table.Identifier{c.cfg.namespace(n.part)}
	if err := c.inner.CreateNamespace(ctx, namespace, nil); err != nil && !errors.Is(err, icebergcatalog.ErrNamespaceAlreadyExists) {
		return nil, err
	}
	options := []icebergcatalog.CreateTableOpt{icebergcatalog.WithProperties(properties(def))}
	if c.files.root != "" {
		options = append(options, icebergcatalog.WithLocation(c.cfg.tableFolder(c.files.root, n)))
	}
	t, err := c.inner.CreateTable(ctx, c.cfg.identifier(n), iceberg.NewSchema(0, icebergFields(def.Columns)...), options...)
	if errors.Is(err, icebergcatalog.ErrTableAlreadyExists) {
		return c.loadTable(ctx, n) // another publisher created the table; the commit detects conflicts
	}
	if err != nil {
		return nil, err
	}
	return c.wrap(t)
}

func (c *restCatalog) commit(ctx context.Context, changes []change) (tagsKept bool, err error) {
	commits := make([]table.TableCommit, len(changes))
	for i, ch := range changes {
		commits[i] = table.TableCommit{Identifier: c.cfg.identifier(ch.name), Requirements: ch.requirements, Updates: ch.updates}
	}
	if err := c.files.syncFolders(c.files.uncommitted.names()); err != nil {
		return false, fmt.Errorf("write the files: %w", err)
	}
	var got response
	// disk.Do makes the commit a step of the trials that kill the program.
	err = c.files.disk.Do("commit", "catalog", func() error {
		return c.inner.CommitTransaction(context.WithValue(ctx, responseKey{}, &got), commits)
	})
	if err != nil && got.isRejection() {
		return false, fmt.Errorf("commit to the lake: the server rejected the commit with status %d: %w", got.status, err)
	}
	if got.status != 0 && err != nil {
		err = fmt.Errorf("the server returned status %d: %w", got.status, err)
	}
	return c.checkCommit(ctx, changes, got, err)
}

func (c *restCatalog) checkAccess(ctx context.Context) error {
	n := tableName{meta, "check_" + uuid.NewString()[:8]}
	if _, err := c.newTable(ctx, n, stream.Definition{Comment: "A test of write access. It can be dropped."}); err != nil {
		return fmt.Errorf("create the table %s: %w", n, err)
	}
	if err := c.inner.DropTable(ctx, c.cfg.identifier(n)); err != nil {
		return fmt.Errorf("drop the table %s: %w", n, err)
	}
	return nil
}

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

// checkCommit reads the tables after a commit. It returns no error if the tables show the
// commit. commitErr is the error of the commit, or nil if the server confirmed the commit.
func (c *restCatalog) checkCommit(ctx context.Context, changes []change, got response, commitErr error) (tagsKept bool, err error) {
	// A server that did not respond to the commit may not respond at all.
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
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
			"read the log of the server, then run \"placementsync lake publish --all\"", strings.Join(after.unapplied, ", "))}
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

func (c *restCatalog) compare(ctx context.Context, changes []change) (after commitState, err error) {
	after.tagsKept = true
	var mu sync.Mutex // guards after
	err = eachIndex(c.files.workers(), len(changes), func(i int) error {
		t, err := c.inner.LoadTable(ctx, c.cfg.identifier(changes[i].name))
		if err != nil {
			return fmt.Errorf("read %s: %w", changes[i].name, err)
		}
		base, got := changes[i].base, t.Metadata()
		want, err := changes[i].metadataAfter()
		if err != nil {
			return fmt.Errorf("%s: %w", changes[i].name, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if !isShown(base.Metadata(), want, got) {
			after.unapplied = append(after.unapplied, changes[i].name.String())
		}
		newID := currentSnapshotID(want)
		if newID != currentSnapshotID(base.Metadata()) && got.SnapshotByID(newID) != nil {
			after.isAnyApplied = true
		}
		for name := range want.Refs() {
			if got.SnapshotByName(name) == nil {
				after.tagsKept = false
			}
		}
		return nil
	})
	slices.Sort(after.unapplied)
	return after, err
}

// isShown reports whether a table shows a change: it has the current snapshot and the night of the
// change, and lacks the tags that the change removes. base and want are the table before and after the
// change, and got is the table in the catalog. Other tags are ignored, because a catalog may drop them.
func isShown(base, want, got table.Metadata) bool {
	for _, name := range []string{runProperty, timeProperty, snapshotProperty} {
		if got.Properties()[name] != want.Properties()[name] {
			return false
		}
	}
	for name := range got.Refs() {
		if base.SnapshotByName(name) != nil && want.SnapshotByName(name) == nil {
			return false
		}
	}
	return currentSnapshotID(got) == currentSnapshotID(want)
}

// currentSnapshotID returns the id of the snapshot that readers see, or 0.
func currentSnapshotID(m table.Metadata) int64 {
	if s := m.CurrentSnapshot(); s != nil {
		return s.SnapshotID
	}
	return 0
}
