package trials_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
)

// scopes is the table of spec section 5, without writing. The spec does not show the scope
// of an article; the demo service requires articles.read.
func scopes() map[string]string {
	return map[string]string{
		"outlets.lists":   "/outlets",
		"outlets.read":    "/outlets/{outlet_id} /outlets/{id}/products /outlets/locations/countries /outlets/locations/states /outlets/locations/cities",
		"tags.lists":      "/tags",
		"products.read":   "/products/{product_id} /products/listings /products/categories",
		"orders.lists":    "/orders /order-items /profiles/{id}/orders /profiles/{id}/order-items",
		"orders.read":     "/orders/{order_id}",
		"profiles.lists":  "/teams/{team_id}/profiles",
		"campaigns.lists": "/campaigns /profiles/{id}/campaigns",
		"campaigns.read":  "/campaigns/{id} /campaigns/{id}/articles /campaigns/{id}/articles/status-count",
		"articles.read":   "/articles/{id}/comments",
		"articles.lists":  "/articles/{id}/comments",
		"files.lists":     "/files",
		"folders.lists":   "/folders", "outlet_disclaimers.lists": "/outlet-disclaimers",
	}
}

// missing returns the scopes that a stream needs and a token lacks.
func missing(s stream.Stream, held []string) []string {
	var lacking []string
	for scope, paths := range scopes() {
		if slices.Contains(strings.Fields(paths), s.Path) && !slices.Contains(held, scope) {
			lacking = append(lacking, scope)
		}
	}
	slices.Sort(lacking)
	return lacking
}

// reachable returns the streams from which a token can read something: a detail that
// completes a list needs the list for its ids.
func reachable(streams []stream.Stream, held []string) []stream.Stream {
	return slices.DeleteFunc(slices.Clone(streams), func(s stream.Stream) bool {
		list, completes := stream.Find(streams, s.Completes)
		return len(missing(s, held)) > 0 || completes && len(missing(list, held)) > 0 ||
			s.Path == "/articles/{id}" && !slices.Contains(held, "articles.read")
	})
}

func TestTrialCustomTokenReadsAllowedStreams(t *testing.T) {
	requireTrials(t)
	for name, held := range map[string]string{
		"catalog and lists":           "outlets.lists outlets.read orders.lists campaigns.lists",
		"campaigns and products":      "campaigns.lists campaigns.read articles.read products.read",
		"articles of order items":     "orders.lists orders.read articles.read articles.lists profiles.lists",
		"small lists, unnamed others": "tags.lists outlet_disclaimers.lists files.lists folders.lists campaigns.read orders.read outlets.read",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := smallWorld()
			world.TokenType, world.Scopes = "custom", strings.Fields(held)
			h := newHouse(t, world)
			h.requireReach(h.goodNight(), world.Scopes)
		})
	}
}

// requireReach checks that the tables contain exactly the values that a token may read, and
// that the plan, the ledger and meta.streams name the missing scopes.
func (h *house) requireReach(res pipeline.Result, held []string) {
	h.t.Helper()
	plan, err := pipeline.Check(h.t.Context(), h.cfg)
	must(h.t, err)
	for _, s := range h.cfg.Streams {
		lacking := strings.Join(missing(s, held), ", ")
		if lacking != "" {
			lacking = "missing scope " + lacking
			// Scopes may be in another order.
			h.requireStream(res.Run, s.Name, fetch.Skipped, "missing scope ")
			got := strings.Split(strings.TrimPrefix(streamOf(h.t, res.Run, s.Name).Reason, "missing scope "), ", ")
			if slices.Sort(got); "missing scope "+strings.Join(got, ", ") != lacking {
				h.t.Errorf("%s lacks %q, want %q", s.Name, got, lacking)
			}
		}
		if (planned(h.t, plan, s.Name).Skip == "") != (lacking == "") {
			h.t.Errorf("the plan skips %s for %q, want %q", s.Name, planned(h.t, plan, s.Name).Skip, lacking)
		}
	}
	h.requireOnly(reachable(h.cfg.Streams, held))
}

// requireOnly compares the tables of some streams with the current data of the service, and
// requires the others to be empty.
func (h *house) requireOnly(read []stream.Stream) {
	h.t.Helper()
	h.requireValues(newReference(h.t, h.service, read))
	filled := stream.Tables(read)
	for table, rows := range h.snapshot() {
		if rows != "0" && !slices.ContainsFunc(filled, func(f stream.Table) bool { return f.Name == table }) {
			h.t.Errorf("there are %s rows of %s, want none", rows, table)
		}
	}
}

// TestTokenOfAnUnknownTypeTriesAllStreams uses an unlisted token type, so that all
// streams are tried.
func TestTokenOfAnUnknownTypeTriesAllStreams(t *testing.T) {
	t.Parallel()
	world := smallWorld()
	world.TokenType, world.Scopes = "partner_v2", []string{"products.read", "orders.lists", "orders.read"}
	h := newHouse(t, world, "product_listings", "tags", "orders", "order_details", "products")
	res, err := h.night()
	must(t, err)
	h.requireStream(res.Run, "tags", fetch.Skipped, "403")
	h.requireOnly(reachable(h.cfg.Streams, world.Scopes))
}

// TestTrialLostScopesKeepTheirRows removes scopes from a token between two nights. Tables that
// it can no longer read keep their rows, and the others are updated.
func TestTrialLostScopesKeepTheirRows(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	world := smallWorld()
	world.ListingChange, world.SilentChange = 0.5, 0.5
	h := newHouse(t, world)
	ref := newReference(t, h.service, h.cfg.Streams)
	first := h.goodNight()
	before := ref.now()
	left := slices.DeleteFunc(slices.Sorted(maps.Keys(scopes())), func(scope string) bool {
		return slices.Contains([]string{"products.read", "campaigns.read", "articles.lists", "files.lists"}, scope)
	})
	h.service.SetFaults(sim.Fault{Path: "/auth/token", Kind: sim.FaultRewrite, Rewrite: func([]byte) []byte {
		return []byte(canonical(map[string]any{"token_type": "custom", "scopes": left, "team_id": h.service.TeamID()}))
	}})
	res := h.goodNight()
	lost := map[string]bool{"token": true}
	for _, s := range h.cfg.Streams {
		if len(missing(s, left)) == 0 {
			continue
		}
		h.requireCarried(first.Run, res.Run, s.Name)
		for _, table := range s.Tables {
			lost[table.Name] = s.Completes == ""
		}
	}
	after, catalog := ref.now(), h.catalog()
	for _, e := range ref.once() {
		switch {
		case e.table == "token":
		case lost[e.table]:
			check(t, e, before, catalog, "main."+e.table)
		case e.table != "campaigns" && e.table != "questionnaires": // filled by two streams, of which one is not read
			check(t, e, after, catalog, "main."+e.table)
		}
	}
	h.requireStream(res.Run, "orders", fetch.Exact, "")
}

// requireCarried checks that a stream was skipped because of its scope and keeps the rows
// of an earlier night.
func (h *house) requireCarried(from, run ledger.Run, name string) {
	h.t.Helper()
	h.requireStream(run, name, fetch.CarriedForward, "missing scope ")
	if since := streamOf(h.t, run, name).AgeSince; !since.Equal(from.SnapshotAt) {
		h.t.Errorf("the rows of %s date from %v, want %v", name, since, from.SnapshotAt)
	}
}
