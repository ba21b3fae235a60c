package explore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"placementsync/internal/html"
	"placementsync/internal/humanize"
	"placementsync/internal/query"
	"placementsync/schema"
)

const (
	sqlPath = rootPath + "/sql"
	// maxFileBytes limits the result file of a statement, and the sum of its temporary files.
	maxFileBytes = 2 << 30
	maxFormBytes = 256 << 10
)

// Parameters of the page.
const (
	sqlKey    = "sql"
	tokenKey  = "token"
	formatKey = "format"
)

type sqlView struct {
	questionView
	Token, Nonce string
	Limit        int    // seconds that a statement may run
	Line, Column int    // the position of the problem, or 0
	QueryFile    string // the statement with the header of a named query
}

func sqlRoute(show func(v *visit) (reply, error)) route {
	return route{path: "/sql", tab: "SQL", show: show, isSlow: true, keys: []string{sqlKey, formatKey}}
}

// serveStatement runs the statement of a form of the page SQL.
func (e *Explorer) serveStatement(w http.ResponseWriter, req *http.Request) {
	if e.acceptForm(w, req, "the statement was not run", "Open the page SQL again, and run the statement there.") {
		e.serve(w, req, sqlRoute(runSQL))
	}
}

// showSQL does not run the statement of the address, because the address may come from another site.
func showSQL(v *visit) (reply, error) {
	view, err := newSQLView(v)
	return view.page(http.StatusOK), err
}

func newSQLView(v *visit) (sqlView, error) {
	view := sqlView{Token: v.explorer.formToken, Nonce: rand.Text(), Limit: int(v.explorer.cfg.Timeout.Seconds())}
	view.SQL = v.params.Get(sqlKey)
	var err error
	view.AsOf, err = v.snapshotForm()
	return view, err
}

func (view sqlView) page(status int) htmlPage {
	p := newPage("SQL", "sql", view, append(html.ChartScripts(), "editor.min.js", "sql.js")...)
	p.Status, p.Nonce = status, view.Nonce
	return p
}

func runSQL(v *visit) (reply, error) {
	view, err := newSQLView(v)
	if err != nil {
		return nil, err
	}
	v.free() // the child opens the snapshot itself
	cfg := v.explorer.cfg
	job := query.Job{Catalog: v.snapshot.version.Catalog, AsOf: v.snapshot.AsOf, SQL: view.SQL, MaxRows: maxRows, DiskLimit: maxFileBytes,
		MemoryLimit: cfg.MemoryLimit, Threads: cfg.Threads, Settings: cfg.Settings, Timeout: cfg.Timeout}
	if format := query.Format(v.params.Get(formatKey)); format != "" {
		f, err := findFormat(format)
		if err != nil {
			return nil, err
		}
		job.Format = format
		job.BOM = v.hasMark(format)
		// A file may take longer than a page. The job ends before the request, so that an error page can be sent.
		job.Timeout = max(job.Timeout, minSlowTimeout-sendGrace)
		return sqlDownload{job, f.mediaType, view}, nil
	}
	result, err := v.explorer.runJob(v.Context(), job, io.Discard)
	if err != nil {
		return view.explain(v, err)
	}
	// Mistakes in the header of the statement matter only if it becomes a file of queries.dir.
	stated, _ := query.ParseText("", view.SQL)
	view.Query.Chart = stated.Chart
	view.Table = &tableView{Table: buildWholeTable(result, v.links()), Count: formatRowCount(result.Total), SourceNote: query.DescribeSources(result.Sources)}
	if result.Total > int64(len(result.Rows)) {
		view.Table.Count = fmt.Sprintf("More than %[1]s rows; the table shows the first %[1]s, a file contains all", humanize.Number(len(result.Rows)))
	}
	q := &question{visit: v, view: view.questionView}
	q.addChart(result, result.Rows)
	view.Chart, view.NoChartReason = q.view.Chart, q.view.NoChartReason
	view.QueryFile = strings.TrimSpace(view.SQL) + "\n"
	if !strings.Contains(view.QueryFile, "-- title:") {
		view.QueryFile = "-- subject: own\n-- title: Title of the question\n-- grain: one row per ...\n-- about: Meaning of the numbers.\n" + view.QueryFile
	}
	return view.page(http.StatusOK), nil
}

func (e *Explorer) runJob(ctx context.Context, job query.Job, w io.Writer) (query.Result, error) {
	leave, err := e.statements.enter(ctx)
	if err != nil {
		return query.Result{}, err
	}
	defer leave()
	return job.Run(ctx, e.cfg.Child, w)
}

const (
	// maxRunning is the maximum number of statements that run at a time, and maxWaiting of those that wait.
	maxRunning = 2
	maxWaiting = 8
)

// queue limits the statements that run and wait. Waiting statements run in the order of their arrival,
// because waiting senders of a channel are served in this order.
type queue struct {
	places  chan struct{} // an element for each running or waiting statement
	running chan struct{} // an element for each running statement
}

func newQueue() *queue {
	return &queue{places: make(chan struct{}, maxRunning+maxWaiting), running: make(chan struct{}, maxRunning)}
}

// enter waits until the statement may run. The caller calls leave when the statement has ended. If too many
// statements wait, enter fails at once.
func (q *queue) enter(ctx context.Context) (leave func(), err error) {
	select {
	case q.places <- struct{}{}:
	default:
		return nil, &statusError{http.StatusServiceUnavailable,
			fmt.Sprintf("the statement was not run: %d statements are running and %d are waiting", maxRunning, maxWaiting), "Try again in a moment."}
	}
	select {
	case q.running <- struct{}{}:
	case <-ctx.Done():
		<-q.places
		return nil, context.Cause(ctx)
	}
	return func() { <-q.running; <-q.places }, nil
}

func (view sqlView) explain(v *visit, err error) (reply, error) {
	mistake, isMistake := errors.AsType[*query.StatementError](err)
	crash, isCrash := errors.AsType[*query.CrashError](err)
	view.Problem = query.EscapeLines(startSentence(err.Error()))
	switch {
	case isMistake:
		view.Line, view.Column = mistake.Line, mistake.Column
		return view.page(http.StatusBadRequest), nil
	case isCrash:
		v.explorer.cfg.Log.Warn("process of a statement ended without a result", "state", crash.State, "error", crash.Output)
		return view.page(http.StatusInternalServerError), nil
	}
	return nil, err
}

type sqlDownload struct {
	job       query.Job
	mediaType string
	view      sqlView
}

func (d sqlDownload) send(w http.ResponseWriter, v *visit) error {
	out := &downloadWriter{w: w, mediaType: d.mediaType, file: v.nameFile("result", d.job.Format)}
	_, err := v.explorer.runJob(v.Context(), d.job, out)
	out.end(v, err)
	if err == nil {
		return nil
	}
	problemPage, err := d.view.explain(v, err)
	if err != nil {
		return err
	}
	return problemPage.send(w, v)
}

// buildWholeTable shows all columns of a result. A role can merge the column of a unit or an id into another column.
// These roles are cleared, so that each column is shown.
func buildWholeTable(result query.Result, l links) *html.Table {
	t := &html.Table{Caption: "Result", Empty: "No rows.", Stacked: true}
	roles := rolesOf(result.Columns)
	for i := range roles {
		r := &roles[i]
		r.unitColumn = ""
		if r.idColumn != r.Name {
			r.idColumn = ""
		}
	}
	addCells(t, roles, result, l)
	for i := range t.Heads {
		t.Heads[i].Label = t.Heads[i].Name
	}
	return t
}

func newCompletion() (html.Asset, error) {
	tables := schema.All()
	type word struct {
		Name      string   `json:"name"`
		About     string   `json:"about"`
		Type      string   `json:"type,omitempty"`
		Columns   []word   `json:"columns,omitempty"`
		Arguments []string `json:"arguments,omitempty"` // of a macro
	}
	schemas, macros := map[string][]word{}, []word{}
	add := func(t schema.Table) {
		w := word{Name: t.Table, About: t.About}
		for _, c := range t.Columns {
			w.Columns = append(w.Columns, word{Name: c.Name, Type: c.Type, About: c.About})
		}
		schemas[t.Schema] = append(schemas[t.Schema], w)
	}
	for _, t := range tables {
		add(t)
		if t.Schema == "main" {
			add(t.InPast())
			add(t.InHistory())
		}
	}
	for _, m := range tables.Macros() {
		macros = append(macros, word{Name: m.Name, About: m.About, Arguments: m.Arguments})
	}
	text, err := json.Marshal(map[string]any{"schemas": schemas, "macros": macros})
	return html.NewAsset("application/json", string(text)), err
}
