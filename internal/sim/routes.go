package sim

import (
	"net/url"
	"slices"
	"strings"
)

// route is one readable endpoint of spec 4.2. It answers either a list or an
// object.
type route struct {
	pattern string
	// scopes are all needed (spec section 5); none means any valid token.
	scopes []string
	// shape is the list's envelope; open lets Options.Envelope change it,
	// because the spec does not show it.
	shape Envelope
	open  bool
	// list answers a list endpoint; false when the parent does not exist.
	list listFunc
	// object writes an object endpoint; false when there is none.
	object objectFunc
	// top is the list behind a paginated endpoint without a parent, insert and
	// remove change it while it is walked.
	top    func(w *world) *list
	insert func(w *world)
	remove func(w *world, n uint32)
	// binary marks the one answer that is no JSON.
	binary bool
}

type (
	listFunc   func(w *world, parent string) (view, bool)
	objectFunc func(w *world, e *enc, id string, query url.Values) bool
)

// routes are all endpoints that answer GET.
func routes() []route {
	return slices.Concat(outletRoutes(), productRoutes(), orderRoutes(),
		campaignRoutes(), articleRoutes(), fileRoutes())
}

// outletRoutes list the literal location paths before the one with a parameter
// that would swallow them.
func outletRoutes() []route {
	return []route{
		{pattern: "/auth/token", object: tokenInfo},
		{
			pattern: "/outlets", scopes: []string{"outlets.lists"}, shape: EnvelopePaginated,
			list: top((*world).outletRowView), top: func(w *world) *list { return &w.outletRows },
			insert: (*world).insertOutletRow, remove: (*world).withdrawOne,
		},
		{
			pattern: "/outlets/locations/countries", scopes: []string{"outlets.read"},
			object: locations("countries", func(c city) string { return c.country }),
		},
		{
			pattern: "/outlets/locations/states", scopes: []string{"outlets.read"},
			object: locations("states", func(c city) string { return c.state }),
		},
		{
			pattern: "/outlets/locations/cities", scopes: []string{"outlets.read"},
			object: locations("cities", func(c city) string { return c.name }),
		},
		{
			pattern: "/outlets/{outlet_id}", scopes: []string{"outlets.read"},
			object: byID(kindOutlet, (*world).hasOutlet, (*world).renderOutlet),
		},
		{
			pattern: "/outlets/{id}/products", scopes: []string{"outlets.read"}, shape: EnvelopeRecords, open: true,
			list: under(kindOutlet, (*world).hasOutlet, (*world).outletProducts),
		},
		{
			pattern: "/tags", scopes: []string{"tags.lists"}, shape: EnvelopeArray, open: true,
			list: top((*world).tagView),
		},
		{
			pattern: "/outlet-disclaimers", scopes: []string{"outlet_disclaimers.lists"}, shape: EnvelopeRecords, open: true,
			list: top((*world).disclaimerView),
		},
	}
}

func productRoutes() []route {
	scopes := []string{"products.read"}
	return []route{
		{
			pattern: "/products/listings", scopes: scopes, shape: EnvelopePaginated,
			list: top((*world).listingView), top: func(w *world) *list { return &w.listings },
			insert: (*world).insertListing, remove: (*world).withdrawOne,
		},
		{pattern: "/products/categories", scopes: scopes, shape: EnvelopeArray, list: top((*world).categories)},
		{
			pattern: "/products/{product_id}", scopes: scopes,
			object: byID(kindProduct, (*world).hasProduct, (*world).renderProduct),
		},
	}
}

// orderRoutes include what hangs on a profile under the same scope.
func orderRoutes() []route {
	scopes := []string{"orders.lists"}
	return []route{
		{
			pattern: "/orders", scopes: scopes, shape: EnvelopePaginated,
			list: top((*world).orderView), top: func(w *world) *list { return &w.orderList },
			insert: (*world).insertOrder, remove: (*world).removeOrder,
		},
		{
			pattern: "/order-items", scopes: scopes, shape: EnvelopePaginated, open: true,
			list: top((*world).itemView), top: func(w *world) *list { return &w.itemList },
			insert: (*world).insertItem, remove: (*world).removeItem,
		},
		{pattern: "/orders/{order_id}", scopes: []string{"orders.read"}, object: orderDetail},
		{
			pattern: "/profiles/{id}/orders", scopes: scopes, shape: EnvelopePaginated, open: true,
			list: under(kindProfile, (*world).hasProfile, (*world).profileOrders),
		},
		{
			pattern: "/profiles/{id}/order-items", scopes: scopes, shape: EnvelopeArray,
			list: under(kindProfile, (*world).hasProfile, (*world).profileItems),
		},
	}
}

func campaignRoutes() []route {
	lists, read := []string{"campaigns.lists"}, []string{"campaigns.read"}
	return []route{
		{
			pattern: "/profiles/{id}/campaigns", scopes: lists, shape: EnvelopeArray, open: true,
			list: under(kindProfile, (*world).hasProfile, (*world).profileCampaigns),
		},
		{
			pattern: "/teams/{team_id}/profiles", scopes: []string{"profiles.lists"}, shape: EnvelopePaginated, open: true,
			list: under(kindTeam, (*world).hasTeam, (*world).teamProfiles),
		},
		{
			pattern: "/campaigns", scopes: lists, shape: EnvelopePaginated, open: true,
			list: top((*world).campaignView), top: func(w *world) *list { return &w.campaignList },
			insert: (*world).insertCampaign, remove: (*world).removeCampaign,
		},
		{
			pattern: "/campaigns/{id}", scopes: read,
			object: byID(kindCampaign, (*world).hasCampaign, (*world).renderCampaignDetail),
		},
		{
			pattern: "/campaigns/{id}/articles", scopes: read, shape: EnvelopeRecords, open: true,
			list: under(kindCampaign, (*world).hasCampaign, (*world).campaignArticles),
		},
		{
			pattern: "/campaigns/{id}/articles/status-count", scopes: read,
			object: byID(kindCampaign, (*world).hasCampaign, (*world).statusCounts),
		},
	}
}

func articleRoutes() []route {
	return []route{
		{
			pattern: articlePattern, scopes: []string{"articles.read"},
			object: byID(kindArticle, (*world).hasArticle, (*world).renderArticle),
		},
		{
			pattern: "/articles/{id}/comments", scopes: []string{"articles.read", "articles.lists"}, shape: EnvelopeRecords,
			list: under(kindArticle, (*world).hasArticle, (*world).comments),
		},
	}
}

// articlePattern is the route whose scope the spec does not show.
const articlePattern = "/articles/{id}"

func fileRoutes() []route {
	return []route{
		{
			pattern: "/files", scopes: []string{"files.lists"}, shape: EnvelopePaginated, open: true,
			list: top((*world).fileView), top: func(w *world) *list { return &w.fileList },
			insert: (*world).insertFile, remove: (*world).removeFile,
		},
		{
			pattern: "/files/{id}", scopes: []string{"files.read"},
			object: byID(kindFile, (*world).hasFile, (*world).renderFile),
		},
		{
			pattern: "/files/{id}/download", scopes: []string{"files.read"},
			binary: true, object: byID(kindFile, (*world).hasFile, (*world).fileContent),
		},
		{
			pattern: "/folders", scopes: []string{"folders.lists"}, shape: EnvelopeArray, open: true,
			list: top((*world).folderView), top: func(w *world) *list { return &w.folderList },
			insert: (*world).insertFolder, remove: (*world).removeFolder,
		},
	}
}

// top is the list function of an endpoint without a parent.
func top(of func(w *world) view) listFunc {
	return func(w *world, _ string) (view, bool) { return of(w), true }
}

// under is the list function of an endpoint below one record.
func under(k kind, has func(w *world, n uint32) bool, of func(w *world, n uint32) view) listFunc {
	return func(w *world, parent string) (view, bool) {
		n, ok := w.seed.serial(k, parent)
		if !ok || !has(w, n) {
			return view{}, false
		}
		return of(w, n), true
	}
}

// byID is the object function of an endpoint that answers one record.
func byID(k kind, has func(w *world, n uint32) bool, render func(w *world, e *enc, n uint32)) objectFunc {
	return func(w *world, e *enc, id string, _ url.Values) bool {
		n, ok := w.seed.serial(k, id)
		if !ok || !has(w, n) {
			return false
		}
		render(w, e, n)
		return true
	}
}

// locations is the object function of one of the three location lists.
func locations(key string, of func(city) string) objectFunc {
	return func(w *world, e *enc, _ string, _ url.Values) bool {
		w.locations(e, key, of)
		return true
	}
}

// orderDetail is byID with the one query that changes an object's answer.
func orderDetail(w *world, e *enc, id string, query url.Values) bool {
	n, ok := w.seed.serial(kindOrder, id)
	if !ok || !w.hasOrder(n) {
		return false
	}
	full := query.Get("include_outlets_data")
	w.renderOrderDetail(e, n, full == "true" || full == "1")
	return true
}

// tokenInfo writes GET /auth/token. Some of its types are not shown.
func tokenInfo(w *world, e *enc, _ string, _ url.Values) bool {
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

// newRouter splits the patterns once.
func newRouter() router {
	r := router{routes: routes()}
	for i := range r.routes {
		r.segments = append(r.segments, strings.Split(r.routes[i].pattern, "/"))
	}
	return r
}

// find answers the route and the value of its parameter. A route without
// parameters stands before the one that would swallow it.
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
