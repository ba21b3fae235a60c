package explore

import (
	"cmp"
	"math"
	"net/http"
	"net/url"
	"path"
	"strings"

	"placementsync/internal/query"
)

// maxRows is the maximum number of rows that a page keeps of one result.
const maxRows = 1000

// visit is a request with its snapshot.
type visit struct {
	*http.Request
	route route
	// params contains the parameters of the address.
	params   url.Values
	pool     *pool
	snapshot *openSnapshot
	db       *query.DB
	program  string // see Config.Program
}

// format returns the format of a download, from the last part of the path.
func (v *visit) format() query.Format {
	return query.Format(cmp.Or(v.PathValue("format"), strings.TrimPrefix(path.Ext(v.URL.Path), ".")))
}

func (v *visit) runNamed(name string, values map[string]string) (query.Result, error) {
	q, err := query.Resolve(name)
	if err != nil {
		return query.Result{}, err
	}
	return v.run(q, values)
}

// run runs a query and keeps at most maxRows rows.
func (v *visit) run(q query.Query, values map[string]string) (query.Result, error) {
	return v.db.Collect(v.Context(), q, values, maxRows)
}

// runWhole runs a query and keeps all rows. The statement must limit its rows itself.
func (v *visit) runWhole(q query.Query, values map[string]string) (query.Result, error) {
	return v.db.Collect(v.Context(), q, values, math.MaxInt)
}

// free gives the snapshot back to the pool. serve calls it at the end of a request. A page can call it
// earlier, before work that does not read the snapshot.
func (v *visit) free() {
	if v.db != nil {
		v.pool.release(v.snapshot, v.db)
		v.db = nil
	}
}
