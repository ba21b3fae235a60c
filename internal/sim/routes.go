package sim

import (
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
)

// route is an endpoint of spec 4.2 that answers GET with a list or an object.
type route struct {
	pattern string
	// scopes are all required (spec section 5). Nil means that any valid token is enough.
	// The default token has the scopes of all routes.
	scopes []string
	// fullAccess means that a token of type full_access is required.
	fullAccess bool
	// shape is the list's envelope. open lets Options.Envelope replace it, because the spec
	// does not show it.
	shape Envelope
	open  bool
	// list returns a list. It returns false if the parent does not exist.
	list func(parent string) (view, bool)
	// object writes an object. It returns false if the object does not exist.
	object func(e *enc, id string, query url.Values) bool
	// top is the list of an endpoint without a parent. insert and remove change it while it
	// is walked.
	top    *list
	insert func(r *rand.Rand)
	remove func(n uint32)
	// binary marks the endpoint whose response is not JSON.
	binary bool
}

// routes returns all endpoints that answer GET.
func (w *world) routes() []route {
	return slices.Concat(w.marketRoutes(), w.orderRoutes(), w.contentRoutes())
}

// marketRoutes returns the routes of the market. Literal location paths must precede the
// pattern with a parameter that also matches them.
func (w *world) marketRoutes() []route {
	read, readProducts := []string{"outlets.read"}, []string{"products.read"}
	return []route{
		{pattern: "/auth/token", object: w.renderToken},
		{
			pattern: "/outlets", scopes: []string{"outlets.lists"}, shape: EnvelopePaginated,
			list: topLevelList(w.listings.outletRowView), top: &w.listings.outletRows,
			insert: w.listings.insertOutletRow, remove: w.listings.removeProduct,
		},
		{
			pattern: "/outlets/locations/countries", scopes: read,
			object: w.outlets.locationsOf("countries", func(c city) string { return c.country }),
		},
		{pattern: "/outlets/locations/states", scopes: read, object: w.outlets.locationsOf("states", func(c city) string { return c.state })},
		{pattern: "/outlets/locations/cities", scopes: read, object: w.outlets.locationsOf("cities", func(c city) string { return c.name })},
		{pattern: "/outlets/{outlet_id}", scopes: read, object: w.byID(kindOutlet, w.outlets.hasOutlet, w.outlets.renderDetail)},
		{
			pattern: "/outlets/{id}/products", scopes: read, shape: EnvelopeRecords, open: true,
			list: w.listBelow(kindOutlet, w.outlets.hasOutlet, w.listings.outletProductView),
		},
		{pattern: "/tags", scopes: []string{"tags.lists"}, shape: EnvelopeArray, open: true, list: topLevelList(tagView)},
		{
			pattern: "/outlet-disclaimers", scopes: []string{"outlet_disclaimers.lists"}, shape: EnvelopeRecords, open: true,
			list: topLevelList(disclaimerView),
		},
		{
			pattern: "/products/listings", scopes: readProducts, shape: EnvelopePaginated,
			list: topLevelList(w.listings.listingView), top: &w.listings.onSale,
			insert: w.listings.insertListing, remove: w.listings.removeProduct,
		},
		{pattern: "/products/categories", scopes: readProducts, shape: EnvelopeArray, list: topLevelList(w.listings.categoryView)},
		{pattern: "/products/{product_id}", scopes: readProducts, object: w.byID(kindProduct, w.products.hasProduct, w.products.renderDetail)},
	}
}

// orderRoutes returns the routes of orders and profiles.
func (w *world) orderRoutes() []route {
	lists := []string{"orders.lists"}
	return []route{
		{
			pattern: "/orders", scopes: lists, shape: EnvelopePaginated,
			list: topLevelList(w.orders.listView), top: &w.orders.list,
			insert: w.orders.insertOrder, remove: w.orders.list.remove,
		},
		{
			pattern: "/order-items", scopes: lists, shape: EnvelopePaginated, open: true,
			list: topLevelList(w.items.listView), top: &w.items.list,
			insert: w.items.insertItem, remove: w.items.list.remove,
		},
		{pattern: "/orders/{order_id}", scopes: []string{"orders.read"}, object: w.byIDWithQuery(kindOrder, w.orders.hasOrder, w.orders.renderDetail)},
		{
			pattern: "/profiles/{id}/orders", scopes: lists, shape: EnvelopePaginated, open: true,
			list: w.listBelow(kindProfile, w.profiles.hasProfile, w.orders.profileView),
		},
		{
			pattern: "/profiles/{id}/order-items", scopes: lists, shape: EnvelopeArray,
			list: w.listBelow(kindProfile, w.profiles.hasProfile, w.items.profileView),
		},
		{
			pattern: "/teams/{team_id}/profiles", scopes: []string{"profiles.lists"}, shape: EnvelopePaginated, open: true,
			list: w.listBelow(kindTeam, isTeam, w.profiles.teamView),
		},
		{
			pattern: "/profiles/{id}/campaigns", scopes: []string{"campaigns.lists"}, shape: EnvelopeArray, open: true,
			list: w.listBelow(kindProfile, w.profiles.hasProfile, w.campaigns.profileView),
		},
	}
}

// contentRoutes returns the routes of articles and files. The spec does not show the scope
// of /articles/{id}.
func (w *world) contentRoutes() []route {
	read, readFiles := []string{"campaigns.read"}, []string{"files.read"}
	return []route{
		{
			pattern: "/campaigns", scopes: []string{"campaigns.lists"}, shape: EnvelopePaginated, open: true,
			list: topLevelList(w.campaigns.listView), top: &w.campaigns.list,
			insert: w.campaigns.insertCampaign, remove: w.campaigns.list.remove,
		},
		{pattern: "/campaigns/{id}", scopes: read, object: w.byID(kindCampaign, w.campaigns.hasCampaign, w.campaigns.renderDetail)},
		{
			pattern: "/campaigns/{id}/articles", scopes: read, shape: EnvelopeRecords, open: true,
			list: w.listBelow(kindCampaign, w.campaigns.hasCampaign, w.campaigns.articleView),
		},
		{
			pattern: "/campaigns/{id}/articles/status-count", scopes: read,
			object: w.byID(kindCampaign, w.campaigns.hasCampaign, w.campaigns.renderStatusCounts),
		},
		{
			pattern: "/articles/{id}", scopes: []string{"articles.read"}, fullAccess: w.opts.ArticleNeedsFullAccess,
			object: w.byID(kindArticle, w.articles.hasArticle, w.articles.renderDetail),
		},
		{
			pattern: "/articles/{id}/comments", scopes: []string{"articles.read", "articles.lists"}, shape: EnvelopeRecords,
			list: w.listBelow(kindArticle, w.articles.hasArticle, w.articles.commentView),
		},
		{
			pattern: "/files", scopes: []string{"files.lists"}, shape: EnvelopePaginated, open: true,
			list: topLevelList(w.files.listView), top: &w.files.list,
			insert: w.files.insertFile, remove: w.files.list.remove,
		},
		{pattern: "/files/{id}", scopes: readFiles, object: w.byID(kindFile, w.files.hasFile, w.files.renderFile)},
		{pattern: "/files/{id}/download", scopes: readFiles, binary: true, object: w.byID(kindFile, w.files.hasFile, renderFileContent)},
		{
			pattern: "/folders", scopes: []string{"folders.lists"}, shape: EnvelopeArray, open: true,
			list: topLevelList(w.files.folderView), top: &w.files.folderList,
			insert: w.files.insertFolder, remove: w.files.folderList.remove,
		},
	}
}

// topLevelList returns the list function of an endpoint without a parent.
func topLevelList(of func() view) func(string) (view, bool) {
	return func(string) (view, bool) { return of(), true }
}

// listBelow returns the list function of an endpoint below a record.
func (w *world) listBelow(k kind, has func(n uint32) bool, of func(n uint32) view) func(string) (view, bool) {
	return func(parent string) (view, bool) {
		if n, ok := w.seed.serial(k, parent); ok && has(n) {
			return of(n), true
		}
		return view{}, false
	}
}

// byID returns the object function of an endpoint for single records.
func (w *world) byID(k kind, has func(n uint32) bool, render func(e *enc, n uint32)) func(*enc, string, url.Values) bool {
	return w.byIDWithQuery(k, has, func(e *enc, n uint32, _ url.Values) { render(e, n) })
}

// byIDWithQuery is like byID, for an endpoint with query parameters.
func (w *world) byIDWithQuery(k kind, has func(n uint32) bool, render func(e *enc, n uint32, query url.Values)) func(*enc, string, url.Values) bool {
	return func(e *enc, id string, query url.Values) bool {
		n, ok := w.seed.serial(k, id)
		if ok = ok && has(n); ok {
			render(e, n, query)
		}
		return ok
	}
}

// renderToken writes GET /auth/token. The spec does not show some of its types.
func (w *world) renderToken(e *enc, _ string, _ url.Values) bool {
	e.b = append(e.b, '{')
	e.str("source", "api_token")
	e.id("team_id", kindTeam, 0)
	e.str("token_type", w.opts.TokenType)
	e.arr("scopes")
	for _, scope := range w.opts.Scopes {
		e.value(scope)
	}
	e.close(']')
	e.flag("pro_pricing_enabled", true)
	e.end()
	return true
}

// router finds the route of a path.
type router struct {
	routes   []route
	segments [][]string
}

// newRouter splits the patterns.
func newRouter(routes []route) router {
	r := router{routes: routes}
	for i := range routes {
		r.segments = append(r.segments, strings.Split(routes[i].pattern, "/"))
	}
	return r
}

// allScopes returns the scopes of all routes without duplicates.
func (r router) allScopes() []string {
	var scopes []string
	for _, rt := range r.routes {
		for _, scope := range rt.scopes {
			if !slices.Contains(scopes, scope) {
				scopes = append(scopes, scope)
			}
		}
	}
	return scopes
}

// find returns the route of a path and the value of its parameter. If several match, the
// first is returned, so routes without parameters come first.
func (r router) find(path string) (found *route, id string) {
	parts := strings.Split(path, "/")
	for i, pattern := range r.segments {
		if len(pattern) != len(parts) {
			continue
		}
		fits := true
		id = ""
		for j, segment := range pattern {
			if strings.HasPrefix(segment, "{") {
				id = parts[j]
			} else if segment != parts[j] {
				fits = false
				break
			}
		}
		if fits {
			return &r.routes[i], id
		}
	}
	return nil, ""
}
