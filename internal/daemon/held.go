package daemon

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"placementsync/internal/html"
	"placementsync/internal/query"
	"placementsync/internal/warehouse"
)

// HeldPage serves the failed checks and the changes of the held night.
type HeldPage struct {
	Warehouse   *warehouse.Warehouse
	MemoryLimit string
	Threads     int
	Log         *slog.Logger

	turn sync.Mutex // one request at a time runs queries
}

const (
	// heldTimeout limits the query of each of the two tables. Both queries together fit into the write
	// timeout of the server.
	heldTimeout = 25 * time.Second
	maxHeldRows = 200 // of a table on the page
)

type heldData struct {
	html.Frame
	Held warehouse.HeldNight
	// From is the time of the snapshot that the held night is compared with.
	From                        time.Time
	ChangeCounts, ChangedFields html.Table
	// Problem is the reason why the changes are not shown.
	Problem string
}

// ServeHTTP responds with status 404 if no night is held. If the changes cannot be read, the
// page still shows the checks.
func (p *HeldPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	held, ok, err := p.Warehouse.Held()
	switch {
	case err != nil:
		p.Log.Error("held night not read", "error", err)
		writeText(w, http.StatusInternalServerError, "the held night could not be read: see the log")
		return
	case !ok:
		writeText(w, http.StatusNotFound, "no night is held")
		return
	}
	data := heldData{Held: held, Frame: html.Frame{Title: "held night - placementsync", Name: "status",
		Tabs: []html.Tab{{Name: "Status", Link: "."}, {Name: "Held night", Link: "held", Current: true}}}}
	if err := p.readChanges(r.Context(), &data); err != nil {
		p.Log.Warn("changes of the held night not read", "run", held.Run.ID, "error", err)
		data.Problem = "The changes could not be read: see the log. The command \"placementsync diff --held\" shows them without a time limit."
	}
	writePage(w, p.Log, heldTemplate, data)
}

func (p *HeldPage) readChanges(ctx context.Context, data *heldData) (err error) {
	p.turn.Lock()
	defer p.turn.Unlock()
	db, err := query.Open(ctx, p.Warehouse.Folder.HeldCatalog(data.Held.Manifest.RunID),
		query.Options{MemoryLimit: p.MemoryLimit, Threads: p.Threads, Timeout: heldTimeout})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	snapshots, err := db.Snapshots(ctx)
	if err != nil {
		return err
	}
	if len(snapshots) < 2 {
		data.Problem = "The held night is the first night, so there is no snapshot to compare it with."
		return nil
	}
	var d query.Diff
	if d.From, d.To, err = query.SnapshotsToCompare(snapshots); err != nil {
		return err
	}
	data.From = d.From.At
	counts, err := db.ChangeCounts(ctx, d)
	if err != nil {
		return err
	}
	if data.ChangeCounts, err = collectTable(ctx, db, counts, "Changes by table"); err != nil {
		return err
	}
	fields, err := db.ChangedFields(ctx, d)
	if err != nil {
		return err
	}
	data.ChangedFields, err = collectTable(ctx, db, fields, "Changed fields, with an example of each")
	return err
}

func collectTable(ctx context.Context, db *query.DB, q query.Query, caption string) (html.Table, error) {
	result, err := db.Collect(ctx, q, nil, maxHeldRows)
	if err != nil {
		return html.Table{}, err
	}
	t := html.Table{Caption: caption}
	for _, c := range result.Columns {
		t.Heads = append(t.Heads, html.Head{Label: c.Name, Numeric: c.Numeric})
	}
	for _, r := range result.Rows {
		var row html.Row
		for i, v := range r.Values {
			cell, column := html.Cell{Text: v.Text}, result.Columns[i]
			switch {
			case column.Numeric:
				cell = html.Cell{Text: html.Decimal(v.Text), Class: "n"}
			case column.Name != "table" && column.Name != "field":
				cell.Class = "why" // wraps long values
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	if result.Total > maxHeldRows {
		t.More = fmt.Sprintf("The first %d of %s rows.", maxHeldRows, html.Decimal(fmt.Sprint(result.Total)))
	}
	return t, nil
}

var heldTemplate = template.Must(html.Parse(pageFiles, pageFuncs(), "held.html", "heldnight.html"))
