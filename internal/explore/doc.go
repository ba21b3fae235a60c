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
// Write a function such as showSnapshot in a new file, and a template assets/NAME.html, which defines
// "content" and receives an htmlPage. Package page contains the layout, tables, charts and formats. Put names
// and texts of the service into <bdi>. The content security policy forbids inline styles and scripts: add
// them to the assets of package page.
//
// Add a row to routes. A new tab also needs its name in tabNames. The route lists the allowed parameters of
// the address. Pages accept ?as_of=TIME for an earlier snapshot. Links from v.links() and from
// {{$.Link PATH}} in a template keep as_of.
//
// Return errors, see sendError. Test the page over HTTP with newSite(t), see main_test.go.
package explore
