package faults_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// scopes returns the paths that each scope allows, from the table in spec section 5. It leaves out
// scopes for writing, and the path /articles/{id}, because the spec does not show the scope of this
// path.
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
		"folders.lists":   "/folders",

		"outlet_disclaimers.lists": "/outlet-disclaimers",
	}
}

// missingScopes returns the scopes that a stream needs and that are not granted to a token.
func missingScopes(s stream.Stream, granted []string) []string {
	var missing []string
	for scope, paths := range scopes() {
		if slices.Contains(strings.Fields(paths), s.Path) && !slices.Contains(granted, scope) {
			missing = append(missing, scope)
		}
	}
	slices.Sort(missing)
	return missing
}

// readableStreams returns the streams from which a token can read records. To read the details that
// complete a list, the token also needs the scopes of the list. The demo service requires
// articles.read for an article.
func readableStreams(streams []stream.Stream, granted []string) []stream.Stream {
	return slices.DeleteFunc(slices.Clone(streams), func(s stream.Stream) bool {
		list, hasList := stream.Find(streams, s.Completes)
		return len(missingScopes(s, granted)) > 0 || hasList && len(missingScopes(list, granted)) > 0 ||
			s.Path == "/articles/{id}" && !slices.Contains(granted, "articles.read")
	})
}

func TestTrialCustomTokenReadsAllowedStreams(t *testing.T) {
	trials.SkipIfShort(t)
	for name, granted := range map[string]string{
		"catalog and lists":           "outlets.lists outlets.read orders.lists campaigns.lists",
		"campaigns and products":      "campaigns.lists campaigns.read articles.read products.read",
		"articles of order items":     "orders.lists orders.read articles.read articles.lists profiles.lists",
		"details without their lists": "tags.lists outlet_disclaimers.lists files.lists folders.lists campaigns.read orders.read outlets.read",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := trials.SmallWorld()
			world.TokenType, world.Scopes = "custom", strings.Fields(granted)
			h := trials.NewHarness(t, world)
			requireAllowedValues(h, h.GoodNight(), world.Scopes)
		})
	}
}

// requireAllowedValues checks that the tables contain exactly the values that a token with the granted
// scopes can read. It also checks that the ledger and meta.streams contain the missing scopes, and that
// the plan skips the same streams.
func requireAllowedValues(h *trials.Harness, res pipeline.Result, granted []string) {
	h.T.Helper()
	plan, err := pipeline.PlanNight(h.T.Context(), h.Config)
	testharness.Must(h.T, err)
	for _, s := range h.Config.Streams {
		wantReason := ""
		if missing := missingScopes(s, granted); len(missing) > 0 {
			wantReason = "missing scope " + strings.Join(missing, ", ")
			// The reason may contain the scopes in another order.
			h.RequireStream(res.Run, s.Name, stream.Skipped, "missing scope ")
			got := strings.Split(strings.TrimPrefix(trials.StreamOf(h.T, res.Run, s.Name).Reason, "missing scope "), ", ")
			if slices.Sort(got); "missing scope "+strings.Join(got, ", ") != wantReason {
				h.T.Errorf("the reason to skip %s contains the scopes %q, want %q", s.Name, got, wantReason)
			}
		}
		if (plannedStream(h.T, plan, s.Name).SkipReason == "") != (wantReason == "") {
			h.T.Errorf("the reason to skip %s in the plan is %q, want %q", s.Name, plannedStream(h.T, plan, s.Name).SkipReason, wantReason)
		}
	}
	requireOnlyStreams(h, readableStreams(h.Config.Streams, granted))
}

// requireOnlyStreams compares the tables of the given streams with the current data of the service.
// All other tables must be empty.
func requireOnlyStreams(h *trials.Harness, readable []stream.Stream) {
	h.T.Helper()
	h.RequireValues(trials.NewReference(h.T, h.Service, readable))
	filled := stream.Tables(readable)
	for table, rows := range h.RowCounts() {
		if rows != "0" && !slices.ContainsFunc(filled, func(f stream.Table) bool { return f.Name == table }) {
			h.T.Errorf("%[2]s has %[1]s rows, want none", rows, table)
		}
	}
}

// TestTokenOfAnUnknownTypeTriesAllStreams uses a token type that is not in the spec. The scopes of
// such a token may have another meaning, so the night must request all streams.
func TestTokenOfAnUnknownTypeTriesAllStreams(t *testing.T) {
	t.Parallel()
	world := trials.SmallWorld()
	world.TokenType, world.Scopes = "partner_v2", []string{"products.read", "orders.lists", "orders.read"}
	h := trials.NewHarness(t, world, "product_listings", "tags", "orders", "order_details", "products")
	res, err := h.Night()
	testharness.Must(t, err)
	h.RequireStream(res.Run, "tags", stream.Skipped, "403")
	requireOnlyStreams(h, readableStreams(h.Config.Streams, world.Scopes))
}

// TestTrialLostScopesKeepRows removes scopes from a token between two nights. Tables of streams that
// the token can no longer read must keep their rows, and make the night partial. The other tables must be updated.
func TestTrialLostScopesKeepRows(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	world := trials.SmallWorld()
	world.ListingChange, world.SilentChange = 0.5, 0.5
	h := trials.NewHarness(t, world)
	ref := trials.NewReference(t, h.Service, h.Config.Streams)
	first := h.GoodNight()
	before := ref.CurrentRows()
	remaining := slices.DeleteFunc(slices.Sorted(maps.Keys(scopes())), func(scope string) bool {
		return slices.Contains([]string{"products.read", "campaigns.read", "articles.lists", "files.lists"}, scope)
	})
	h.Service.SetFaults(sim.Fault{Path: "/auth/token", Kind: sim.FaultRewrite, Rewrite: func([]byte) []byte {
		return []byte(trials.Canonical(map[string]any{"token_type": "custom", "scopes": remaining, "team_id": h.Service.TeamID()}))
	}})
	res := h.PartialNight()
	isLost := map[string]bool{} // by table; a table of details that complete a list is not lost
	for _, s := range h.Config.Streams {
		if len(missingScopes(s, remaining)) == 0 {
			continue
		}
		requireCarried(h, first.Run, res.Run, s.Name)
		for _, table := range s.Tables {
			isLost[table.Name] = s.Completes == ""
		}
	}
	after, catalog := ref.CurrentRows(), h.Catalog()
	for _, spec := range ref.UniqueTables() {
		switch {
		case spec.Table == "token":
		case isLost[spec.Table]:
			trials.CheckTable(t, spec, before, catalog, "main."+spec.Table)
		case spec.Table != "campaigns" && spec.Table != "questionnaires": // two streams fill these tables, and one of them is not read
			trials.CheckTable(t, spec, after, catalog, "main."+spec.Table)
		}
	}
	h.RequireStream(res.Run, "orders", stream.Exact, "")
}

// requireCarried checks that a stream was not read because of a missing scope, and that its rows
// come from an earlier night.
func requireCarried(h *trials.Harness, earlier, run ledger.Run, name string) {
	h.T.Helper()
	h.RequireStream(run, name, stream.CarriedForward, "missing scope ")
	if !trials.StreamOf(h.T, run, name).Incomplete {
		h.T.Errorf("%s does not make the night partial", name)
	}
	if since := trials.StreamOf(h.T, run, name).AgeSince; !since.Equal(earlier.SnapshotAt) {
		h.T.Errorf("the rows of %s date from %v, want %v", name, since, earlier.SnapshotAt)
	}
}
