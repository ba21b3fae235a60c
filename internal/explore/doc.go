// Package explore shows the newest snapshot in the browser: pages to search the catalog,
// to follow a listing, an order or an article, and to ask the named queries. It reads
// only, through the sandbox of internal/query, and loads nothing from another host.
//
// It must not know the configuration, where the warehouse is or how it is filled: it gets
// the newest version as a function. Reading order: explore.go (what is served), pool.go
// (which snapshot), visit.go (how a page asks), reply.go (what it answers), then a page:
// snapshotpage.go is the smallest.
//
// # How to add a page
//
// Write a function from a visit to a reply in a file of its own, as showSnapshot is. It
// asks with v.ask("NAME", values), which runs sql/NAME.sql: one statement, whose $names
// are bound as VARCHAR (cast where they are not: $top::BIGINT), with a LIMIT unless its
// rows are few by nature. A query of the folder queries is asked with v.askNamed. Values
// of the address are v.PathValue("id") and v.asked, and its route
// names the keys that there can be. It returns a page with a title,
// the name of a template and its data; a download; or a redirect.
//
// Write its template in assets/NAME.html, which defines "content" and finds the data of
// the page in .Data. A value of a record is {{.name}}, text that html/template escapes and a dash for NULL; {{.name.Null}} asks, and
// {{.name.Text}} is the exact text. Names and texts of the service stand in <bdi>. What
// pages share is in assets/parts.html, such as {{template "table" .Data}} for a whole
// answer.
// The functions of templates are in reply.go: num, moment, links such as
// {{listingLink .id.Text}}, and {{template "web" .website_url}} for an address of the
// service. The policy forbids style and script within a page: they are in
// assets/page.css and assets/page.js.
//
// Add a row to routes (the path as http.ServeMux reads it, the tab of the navigation) and,
// for a new tab, to tabs.
//
// Return errors: usageErr and *query.UsageError become a page with status 400, missingErr
// 404, a passed time limit 503, anything else 500 with a line in the log. Every page reads
// an earlier snapshot with ?as_of=TIME, unless its route says newest; links carry it where
// they are made with {{$.Link (listingLink .id.Text)}}.
//
// Test it over HTTP with newSite(t), see main_test.go.
package explore
