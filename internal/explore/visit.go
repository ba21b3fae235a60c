package explore

import (
	"embed"
	"math"
	"net/http"
	"net/url"

	"placementsync/internal/query"
)

//go:embed sql
var statements embed.FS

// mostRecords bounds what a page holds of one answer, whatever its SQL asks for.
const mostRecords = 1000

// visit is one request: its address, and the snapshot that answers it.
type visit struct {
	*http.Request
	route route
	// asked are the keys of the address.
	asked    url.Values
	pool     *pool
	snapshot *snapshot
	db       *query.DB
	program  string
}

// askNamed runs a query of the folder queries.
func (v *visit) askNamed(name string, values map[string]string) (query.Result, error) {
	q, err := query.Resolve(name)
	if err != nil {
		return query.Result{}, err
	}
	return v.run(q, values)
}

// run runs a query and keeps the records that a page may hold.
func (v *visit) run(q query.Query, values map[string]string) (query.Result, error) {
	return v.db.Collect(v.Context(), q, values, mostRecords)
}

// runWhole is run without a bound on the records, for statements that have one.
func (v *visit) runWhole(q query.Query, values map[string]string) (query.Result, error) {
	return v.db.Collect(v.Context(), q, values, math.MaxInt)
}
