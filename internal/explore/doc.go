// Package explore shows the newest snapshot in the browser: pages to search the catalog,
// to follow a listing, an order or an article, and to ask the named queries. It reads
// only, through the sandbox of internal/query, and loads nothing from another host.
//
// It must not know the configuration, where the warehouse is or how it is filled: a Warehouse
// gives it the newest version. Reading order: explore.go (what is served), pool.go
// (which snapshot), visit.go (how a page asks), reply.go (what it answers), then a page:
// snapshotpage.go is the smallest.
//
// # How to add a page
//
// Write a function from a visit to a reply in a file of its own, as showSnapshot is. It
// runs a query with v.run, or one of the folder queries with v.askNamed: values are bound
// as parameters, and at most 1,000 records are kept. Values of the address are
// v.PathValue("id") and v.asked; the route lists the keys that are allowed. The function
// returns a page with a title, the name of a template and its data, or a download.
//
// Write its template in assets/NAME.html, which defines "content" and finds the data of
// the page in .Data. internal/page has the layout around it, tables, charts and formats.
// Names and texts of the service go into <bdi>. The policy forbids style and script within
// a page: they are in the assets of internal/page. A page with charts adds page.ChartScripts to its scripts.
//
// Add a row to routes (the path as http.ServeMux reads it, the tab of the navigation) and,
// for a new tab, to tabs.
//
// Return errors: usageErr and *query.UsageError become a page with status 400, a
// statusError has its own status, a passed time limit is 503, and anything else is 500
// with a line in the log. Every page reads
// an earlier snapshot with ?as_of=TIME, unless its route says newest; links carry it where
// they are made by v.links() or, in a template, by {{$.Link PATH}}.
//
// Test it over HTTP with newSite(t), see main_test.go.
package explore
