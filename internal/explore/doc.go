// Package explore is the workbench: web pages to search the catalog, to inspect listings, orders
// and other records with their history, and to run the named queries, which the pages call questions.
// All queries run in the sandbox of package query and are read only. The pages load no files from
// other hosts.
//
// Typed SQL is SQL that a user types. It runs in a child process, see sqlpage.go.
//
// The package must not know the configuration, the warehouse folder or how the folder is filled: a
// Warehouse returns the newest version. Reading order: explore.go (routes), pool.go (snapshots),
// visit.go (requests), reply.go (responses), then a page. The smallest page is snapshotpage.go.
//
// # How to add a page
//
// Write a function such as showSnapshot in a new file. Its argument is a visit (the request with its
// snapshot). Its result is a reply (the response): a download, or newPage with a title, the name of
// a template, the data and the scripts of the page. The function runs a query with v.run, or a named
// query with v.runNamed. Values are bound to the parameters of the query, and at most 1,000 rows are kept. Parameters of
// the address are in v.PathValue("id") and v.params; the route lists the allowed parameters.
//
// Write the template assets/NAME.html. It defines "content", and the data of the page is in
// .Data. Package page contains the layout, tables, charts and formats. Put names and texts of the
// service into <bdi>. The content security policy forbids inline styles and scripts: add styles
// and scripts to the assets of package page. The scripts of a page with charts are page.ChartScripts().
//
// Add a row to routes. Its path is a pattern of http.ServeMux. A new tab also needs its name in tabNames.
//
// Return errors: usageErr and *query.UsageError become pages with status 400, a statusError has
// its own status, an exceeded time limit has status 503. Other errors have status 500 and are
// logged. Pages accept ?as_of=TIME for an earlier snapshot, except for pages whose route sets
// newestOnly. Links from v.links() and from {{$.Link PATH}} in a template keep as_of.
//
// Test the page over HTTP with newSite(t), see main_test.go.
package explore
