package sim

import (
	"cmp"
	"net/http"
	"time"
)

// Options are the options of the service. The zero value gives a world with every form that the spec allows. If a count or a
// share has a default, 0 means the default and a negative value means zero, or one for HistoryDays
// and Outlets.
type Options struct {
	// Seed determines everything that looks random. Zero is a valid seed.
	Seed uint64
	// Realistic gives the world of the demo: one form for each field, as the service is known to answer, with plausible
	// names, prices and durations.
	Realistic bool
	// Start is the simulated time of day 0. Defaults to 2026-11-01T00:00:00Z.
	Start time.Time
	// HistoryDays is the number of days that are simulated before Start. Campaigns and orders are
	// spread over them, so with a longer history a smaller share is open. Defaults to 120.
	HistoryDays int

	// Outlets, Profiles and Folders are numbers of records. Later days add none. They default to 120,
	// 12 and 8.
	Outlets, Profiles, Folders int
	// Listings is the number of products on sale on day 0. Defaults to 400.
	Listings int
	// Campaigns, Orders and Files are numbers of records that were created until day 0. Later days add
	// records at the average rate of the history. They default to 40, 200 and 60.
	Campaigns, Orders, Files int

	// ListingChange is the share of listings whose row changes per day, because the price or the
	// domain authority changes. Defaults to 0.06, in a realistic world to 0.02.
	ListingChange float64
	// ListingTurnover is the share of listings withdrawn per day. The same number is
	// added. Defaults to 0.01, in a realistic world to 0.002.
	ListingTurnover float64
	// SilentChange is the share of outlets and published articles whose detail changes per day
	// without a change in a top-level list. Defaults to 0.002.
	SilentChange float64
	// HiddenDetail gives details more fields than their list rows. The rows of campaigns omit the
	// articles. In the detail of an order, if the query requests all fields of outlets,
	// each outlet has the field revision, which SilentChange increases.
	HiddenDetail bool

	// Token is the accepted token. A token that does not begin with pc_ is never accepted
	// (spec section 5). Defaults to pc_demo.
	Token string
	// TokenType is full_access, custom, read_only or any other text. Defaults to read_only.
	TokenType string
	// Scopes are the scopes of the token. Nil means the scopes of all routes. With an empty
	// list the token has no scopes.
	Scopes []string
	// ArticleNeedsFullAccess restricts GET /articles/{id} to full_access tokens, because the
	// spec does not show the scope of this route. Otherwise articles.read is enough.
	ArticleNeedsFullAccess bool

	// Encodings are the supported content encodings, zstd or gzip, in order of preference. Empty means
	// that no response is compressed.
	Encodings []string

	// Unordered gives lists a stable pseudorandom order, with new records at random positions. Otherwise
	// lists are sorted by created_at descending, then by id. The service ignores sort_by, order_by and filters.
	Unordered bool
	// Sorts makes the service obey sort_by=created_at with order_by=desc.
	Sorts bool
	// ChurnEvery is the number of requests of a list after which one record is inserted and one
	// is deleted. 0 means no churn.
	ChurnEvery int

	// FaultFunc takes precedence over the faults of Service.SetFaults, which are used if it returns nil.
	// The function is called for one request at a time, and must not call the service.
	FaultFunc func(r *http.Request) *Fault
}

func (o Options) withDefaults() Options {
	if o.Start.IsZero() {
		o.Start = time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)
	}
	o.HistoryDays = max(1, optionValue(o.HistoryDays, 120))
	o.Outlets = max(1, optionValue(o.Outlets, 120))
	o.Listings = optionValue(o.Listings, 400)
	o.Profiles = optionValue(o.Profiles, 12)
	o.Campaigns = optionValue(o.Campaigns, 40)
	o.Orders = optionValue(o.Orders, 200)
	o.Files = optionValue(o.Files, 60)
	o.Folders = optionValue(o.Folders, 8)
	if o.Profiles == 0 {
		o.Campaigns, o.Orders = 0, 0
	}
	listingChange, listingTurnover := 0.06, 0.01
	if o.Realistic {
		listingChange, listingTurnover = 0.02, 0.002
	}
	o.ListingChange = min(1, optionValue(o.ListingChange, listingChange))
	o.ListingTurnover = min(1, optionValue(o.ListingTurnover, listingTurnover))
	o.SilentChange = min(1, optionValue(o.SilentChange, 0.002))
	o.Token, o.TokenType = cmp.Or(o.Token, "pc_demo"), cmp.Or(o.TokenType, "read_only")
	return o
}

// optionValue returns a count or share: the default for 0, and 0 for a negative number.
func optionValue[N int | float64](n, fallback N) N {
	if n == 0 {
		return fallback
	}
	return max(n, 0)
}
