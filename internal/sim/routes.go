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
	// envelope is the format of a list. anyEnvelope means that the spec does not show the envelope. In a
	// realistic world such a list is paginated.
	envelope    envelope
	anyEnvelope bool
	// parent is the kind of the record in the path. 0 means that the path contains no record.
	parent kind
	// whole is the list that the endpoint returns in full, and that Options.ChurnEvery changes while a client
	// reads its pages. Nil means none.
	whole *list
	// view returns the content of a list if whole is nil. n is the number of the record in the path.
	view func(n uint32) view
	// render writes an object, or a record of whole.
	render func(e *enc, n uint32)
	// binary marks the endpoint whose response is not JSON.
	binary bool
}

// envelope is the format of list responses (spec 4.1).
type envelope int

const (
	envelopePaginated envelope = iota // an object with records, totals and page numbers
	envelopeArray
	envelopeRecords // an object with records only
)

// routes returns all endpoints with GET. Paths without a parameter precede the patterns that also
// match them.
func (w *world) routes() []route {
	readOutlets, readProducts, listOrders := []string{"outlets.read"}, []string{"products.read"}, []string{"orders.lists"}
	readCampaigns, readFiles := []string{"campaigns.read"}, []string{"files.read"}
	return []route{
		{pattern: "/auth/token", render: w.renderToken},
		{
			pattern: "/outlets", scopes: []string{"outlets.lists"}, envelope: envelopePaginated,
			whole: &w.products.outletListings, render: w.products.renderOutletListing,
		},
		{
			pattern: "/outlets/locations/countries", scopes: readOutlets,
			render: w.outlets.locationsOf("countries", func(c city) string { return c.country }),
		},
		{pattern: "/outlets/locations/states", scopes: readOutlets, render: w.outlets.locationsOf("states", func(c city) string { return c.state })},
		{pattern: "/outlets/locations/cities", scopes: readOutlets, render: w.outlets.locationsOf("cities", func(c city) string { return c.name })},
		{pattern: "/outlets/{outlet_id}", scopes: readOutlets, parent: kindOutlet, render: w.outlets.renderDetail},
		{
			pattern: "/outlets/{id}/products", scopes: readOutlets, envelope: envelopeRecords, anyEnvelope: true,
			parent: kindOutlet, view: w.products.outletProductView,
		},
		{pattern: "/tags", scopes: []string{"tags.lists"}, envelope: envelopeArray, anyEnvelope: true, view: w.outlets.tagView},
		{
			pattern: "/outlet-disclaimers", scopes: []string{"outlet_disclaimers.lists"}, envelope: envelopeRecords, anyEnvelope: true,
			view: w.outlets.disclaimerView,
		},
		{
			pattern: "/products/listings", scopes: readProducts, envelope: envelopePaginated,
			whole: &w.products.onSale, render: w.products.renderListing,
		},
		{pattern: "/products/categories", scopes: readProducts, envelope: envelopeArray, view: w.products.productTypeView},
		{pattern: "/products/{product_id}", scopes: readProducts, parent: kindProduct, render: w.products.renderDetail},

		{pattern: "/orders", scopes: listOrders, envelope: envelopePaginated, whole: &w.orders.list, render: w.orders.renderRow},
		{
			pattern: "/order-items", scopes: listOrders, envelope: envelopePaginated, anyEnvelope: true,
			whole: &w.items.list, render: w.items.renderRow,
		},
		{pattern: "/orders/{order_id}", scopes: []string{"orders.read"}, parent: kindOrder, render: w.orders.renderDetail},
		{
			pattern: "/profiles/{id}/orders", scopes: listOrders, envelope: envelopePaginated, anyEnvelope: true,
			parent: kindProfile, view: w.orders.profileView,
		},
		{
			pattern: "/profiles/{id}/order-items", scopes: listOrders, envelope: envelopeArray,
			parent: kindProfile, view: w.items.profileView,
		},
		{
			pattern: "/teams/{team_id}/profiles", scopes: []string{"profiles.lists"}, envelope: envelopePaginated, anyEnvelope: true,
			parent: kindTeam, view: w.profiles.teamView,
		},
		{
			pattern: "/profiles/{id}/campaigns", scopes: []string{"campaigns.lists"}, envelope: envelopeArray, anyEnvelope: true,
			parent: kindProfile, view: w.campaigns.profileView,
		},

		{
			pattern: "/campaigns", scopes: []string{"campaigns.lists"}, envelope: envelopePaginated, anyEnvelope: true,
			whole: &w.campaigns.list, render: w.campaigns.renderRow,
		},
		{pattern: "/campaigns/{id}", scopes: readCampaigns, parent: kindCampaign, render: w.campaigns.renderDetail},
		{
			pattern: "/campaigns/{id}/articles", scopes: readCampaigns, envelope: envelopeRecords, anyEnvelope: true,
			parent: kindCampaign, view: w.campaigns.articleView,
		},
		{
			pattern: "/campaigns/{id}/articles/status-count", scopes: readCampaigns,
			parent: kindCampaign, render: w.campaigns.renderStatusCounts,
		},
		{ // the spec does not show the scope of this route
			pattern: "/articles/{id}", scopes: []string{"articles.read"}, needsFullAccess: w.opts.ArticleNeedsFullAccess,
			parent: kindArticle, render: w.articles.renderDetail,
		},
		{
			pattern: "/articles/{id}/comments", scopes: []string{"articles.read", "articles.lists"}, envelope: envelopeRecords,
			parent: kindArticle, view: w.articles.commentView,
		},
		{
			pattern: "/files", scopes: []string{"files.lists"}, envelope: envelopePaginated, anyEnvelope: true,
			whole: &w.files.list, render: w.files.renderFile,
		},
		{pattern: "/files/{id}", scopes: readFiles, parent: kindFile, render: w.files.renderFile},
		{pattern: "/files/{id}/download", scopes: readFiles, binary: true, parent: kindFile, render: renderFileContent},
		{
			pattern: "/folders", scopes: []string{"folders.lists"}, envelope: envelopeArray, anyEnvelope: true,
			whole: &w.files.folderList, render: w.files.renderFolder,
		},
	}
}

func (rt *route) isList() bool { return rt.whole != nil || rt.view != nil }

// recordInPath returns the number of the record with the id in the path. It returns false if this record does
// not exist. One in eight withdrawn products does not exist.
func (w *world) recordInPath(rt *route, id string) (n uint32, ok bool) {
	if rt.parent == 0 {
		return 0, true
	}
	if n, ok = w.seed.numberOf(rt.parent, id); !ok {
		return 0, false
	}
	i := int(n)
	switch rt.parent {
	case kindOutlet:
		ok = i < len(w.outlets.all)
	case kindProduct:
		isDeleted := w.products.isWithdrawn(n) && oneIn(w.seed.roll(kindProduct, n, saltOfDeletion), 8)
		ok = i < len(w.products.all) && !isDeleted
	case kindTeam:
		ok = i == 0
	case kindProfile:
		ok = i < len(w.profiles.all)
	case kindOrder:
		ok = i < len(w.orders.all) && !w.orders.list.removed[n]
	case kindCampaign:
		ok = i < len(w.campaigns.all) && !w.campaigns.list.removed[n]
	case kindArticle:
		ok = i < len(w.articles.all)
	case kindFile:
		ok = i < len(w.files.all) && !w.files.list.removed[n]
	}
	return n, ok
}

// viewOf returns the content of a list. n is the number of the record in the path.
func (rt *route) viewOf(n uint32) view {
	if rt.whole != nil {
		return view{numbers: rt.whole.numbers, reversed: true, render: rt.render} // the newest record is first
	}
	return rt.view(n)
}

// The spec does not show the types of some fields.
func (w *world) renderToken(e *enc, _ uint32) {
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
}

// findRoute returns the first route that matches a path, or nil, and the id in the path.
func (s *Service) findRoute(path string) (matched *route, id string) {
	segments := strings.Split(path, "/")
	for i := range s.routes {
		rt := &s.routes[i]
		if !rt.matches(segments) {
			continue
		}
		if rt.parent != 0 {
			id = segments[idSegment]
		}
		return rt, id
	}
	return nil, ""
}

// idSegment is the index of the parameter in the segments of a path. The segment before the first slash is empty.
const idSegment = 2

func (rt *route) matches(segments []string) bool {
	pattern := strings.Split(rt.pattern, "/")
	if len(pattern) != len(segments) {
		return false
	}
	if rt.parent != 0 {
		pattern[idSegment] = segments[idSegment] // any id matches
	}
	return slices.Equal(pattern, segments)
}
