package sim

import (
	"slices"
	"strings"
)

// route is an endpoint of spec 4.2. It responds to GET with a list or an object.
type route struct {
	// pattern is the path in the spec. A parameter is always the second segment.
	pattern string
	// scopes are all required (spec section 5). Nil means that any valid token is enough.
	// The default token has the scopes of all routes.
	scopes []string
	// needsFullAccess means that a token of type full_access is required.
	needsFullAccess bool
	// envelope is the format of a list. anyEnvelope means that the spec does not show the envelope, so
	// Options.Envelope may replace it.
	envelope    Envelope
	anyEnvelope bool
	// list returns the content of a list. It returns false if the parent does not exist.
	list func(parent string) (view, bool)
	// object writes an object. It returns false if the object does not exist.
	object func(e *enc, id string) bool
	// churnedList is the list that Options.ChurnEvery changes while a client reads its pages. Nil means
	// none.
	churnedList *list
	// binary marks the endpoint whose response is not JSON.
	binary bool
}

// routes returns all endpoints with GET. Paths without a parameter precede the patterns that also
// match them.
func (w *world) routes() []route {
	return slices.Concat(w.marketRoutes(), w.orderRoutes(), w.contentRoutes())
}

func (w *world) marketRoutes() []route {
	readOutlets, readProducts := []string{"outlets.read"}, []string{"products.read"}
	return []route{
		{pattern: "/auth/token", object: w.renderToken},
		{
			pattern: "/outlets", scopes: []string{"outlets.lists"}, envelope: EnvelopePaginated,
			list: wholeList(&w.products.outletListings, w.products.renderOutletListing), churnedList: &w.products.outletListings,
		},
		{
			pattern: "/outlets/locations/countries", scopes: readOutlets,
			object: w.outlets.locationsOf("countries", func(c city) string { return c.country }),
		},
		{pattern: "/outlets/locations/states", scopes: readOutlets, object: w.outlets.locationsOf("states", func(c city) string { return c.state })},
		{pattern: "/outlets/locations/cities", scopes: readOutlets, object: w.outlets.locationsOf("cities", func(c city) string { return c.name })},
		{pattern: "/outlets/{outlet_id}", scopes: readOutlets, object: w.byID(kindOutlet, w.outlets.hasOutlet, w.outlets.renderDetail)},
		{
			pattern: "/outlets/{id}/products", scopes: readOutlets, envelope: EnvelopeRecords, anyEnvelope: true,
			list: w.withParent(kindOutlet, w.outlets.hasOutlet, w.products.outletProductView),
		},
		{pattern: "/tags", scopes: []string{"tags.lists"}, envelope: EnvelopeArray, anyEnvelope: true, list: withoutParent(tagView)},
		{
			pattern: "/outlet-disclaimers", scopes: []string{"outlet_disclaimers.lists"}, envelope: EnvelopeRecords, anyEnvelope: true,
			list: withoutParent(disclaimerView),
		},
		{
			pattern: "/products/listings", scopes: readProducts, envelope: EnvelopePaginated,
			list: wholeList(&w.products.onSale, w.products.renderListing), churnedList: &w.products.onSale,
		},
		{pattern: "/products/categories", scopes: readProducts, envelope: EnvelopeArray, list: withoutParent(w.products.productTypeView)},
		{pattern: "/products/{product_id}", scopes: readProducts, object: w.byID(kindProduct, w.products.hasProduct, w.products.renderDetail)},
	}
}

func (w *world) orderRoutes() []route {
	listOrders := []string{"orders.lists"}
	return []route{
		{
			pattern: "/orders", scopes: listOrders, envelope: EnvelopePaginated,
			list: wholeList(&w.orders.list, w.orders.renderRow), churnedList: &w.orders.list,
		},
		{
			pattern: "/order-items", scopes: listOrders, envelope: EnvelopePaginated, anyEnvelope: true,
			list: wholeList(&w.items.list, w.items.renderRow), churnedList: &w.items.list,
		},
		{pattern: "/orders/{order_id}", scopes: []string{"orders.read"}, object: w.byID(kindOrder, w.orders.hasOrder, w.orders.renderDetail)},
		{
			pattern: "/profiles/{id}/orders", scopes: listOrders, envelope: EnvelopePaginated, anyEnvelope: true,
			list: w.withParent(kindProfile, w.profiles.hasProfile, w.orders.profileView),
		},
		{
			pattern: "/profiles/{id}/order-items", scopes: listOrders, envelope: EnvelopeArray,
			list: w.withParent(kindProfile, w.profiles.hasProfile, w.items.profileView),
		},
		{
			pattern: "/teams/{team_id}/profiles", scopes: []string{"profiles.lists"}, envelope: EnvelopePaginated, anyEnvelope: true,
			list: w.withParent(kindTeam, func(n uint32) bool { return n == 0 }, w.profiles.teamView),
		},
		{
			pattern: "/profiles/{id}/campaigns", scopes: []string{"campaigns.lists"}, envelope: EnvelopeArray, anyEnvelope: true,
			list: w.withParent(kindProfile, w.profiles.hasProfile, w.campaigns.profileView),
		},
	}
}

// contentRoutes returns the routes of campaigns, articles and files. The spec does not show the scope
// of /articles/{id}.
func (w *world) contentRoutes() []route {
	readCampaigns, readFiles := []string{"campaigns.read"}, []string{"files.read"}
	return []route{
		{
			pattern: "/campaigns", scopes: []string{"campaigns.lists"}, envelope: EnvelopePaginated, anyEnvelope: true,
			list: wholeList(&w.campaigns.list, w.campaigns.renderRow), churnedList: &w.campaigns.list,
		},
		{pattern: "/campaigns/{id}", scopes: readCampaigns, object: w.byID(kindCampaign, w.campaigns.hasCampaign, w.campaigns.renderDetail)},
		{
			pattern: "/campaigns/{id}/articles", scopes: readCampaigns, envelope: EnvelopeRecords, anyEnvelope: true,
			list: w.withParent(kindCampaign, w.campaigns.hasCampaign, w.campaigns.articleView),
		},
		{
			pattern: "/campaigns/{id}/articles/status-count", scopes: readCampaigns,
			object: w.byID(kindCampaign, w.campaigns.hasCampaign, w.campaigns.renderStatusCounts),
		},
		{
			pattern: "/articles/{id}", scopes: []string{"articles.read"}, needsFullAccess: w.opts.ArticleNeedsFullAccess,
			object: w.byID(kindArticle, w.articles.hasArticle, w.articles.renderDetail),
		},
		{
			pattern: "/articles/{id}/comments", scopes: []string{"articles.read", "articles.lists"}, envelope: EnvelopeRecords,
			list: w.withParent(kindArticle, w.articles.hasArticle, w.articles.commentView),
		},
		{
			pattern: "/files", scopes: []string{"files.lists"}, envelope: EnvelopePaginated, anyEnvelope: true,
			list: wholeList(&w.files.list, w.files.renderFile), churnedList: &w.files.list,
		},
		{pattern: "/files/{id}", scopes: readFiles, object: w.byID(kindFile, w.files.hasFile, w.files.renderFile)},
		{pattern: "/files/{id}/download", scopes: readFiles, binary: true, object: w.byID(kindFile, w.files.hasFile, renderFileContent)},
		{
			pattern: "/folders", scopes: []string{"folders.lists"}, envelope: EnvelopeArray, anyEnvelope: true,
			list: wholeList(&w.files.folderList, w.files.renderFolder), churnedList: &w.files.folderList,
		},
	}
}

func wholeList(l *list, render func(e *enc, n uint32)) func(string) (view, bool) {
	return withoutParent(func() view { return view{numbers: l.numbers, reversed: true, render: render} })
}

func withoutParent(newView func() view) func(string) (view, bool) {
	return func(string) (view, bool) { return newView(), true }
}

// withParent returns the list function of an endpoint with a parent, a record of kind k.
func (w *world) withParent(k kind, has func(n uint32) bool, viewOf func(n uint32) view) func(string) (view, bool) {
	return func(parent string) (view, bool) {
		if n, ok := w.seed.numberOf(k, parent); ok && has(n) {
			return viewOf(n), true
		}
		return view{}, false
	}
}

// byID returns the object function of an endpoint for single records.
func (w *world) byID(k kind, has func(n uint32) bool, render func(e *enc, n uint32)) func(*enc, string) bool {
	return func(e *enc, id string) bool {
		n, ok := w.seed.numberOf(k, id)
		if ok = ok && has(n); ok {
			render(e, n)
		}
		return ok
	}
}

// The spec does not show the types of some fields.
func (w *world) renderToken(e *enc, _ string) bool {
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

// findRoute returns the first route that matches a path, or nil, and the value of its parameter.
func (s *Service) findRoute(path string) (matched *route, id string) {
	segments := strings.Split(path, "/")
	for i := range s.routes {
		pattern := strings.Split(s.routes[i].pattern, "/")
		if len(pattern) != len(segments) {
			continue
		}
		if len(pattern) > 2 && strings.HasPrefix(pattern[2], "{") {
			id, pattern[2] = segments[2], segments[2]
		}
		if slices.Equal(pattern, segments) {
			return &s.routes[i], id
		}
	}
	return nil, ""
}
