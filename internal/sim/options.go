package sim

import (
	"cmp"
	"net/http"
	"slices"
	"time"
)

// Envelope is the shape in which a list answers (spec 4.1).
type Envelope int

const (
	// EnvelopeMixed gives each endpoint its default shape: paginated where the
	// spec's request column says pagination, elsewhere a mix of all three.
	EnvelopeMixed Envelope = iota
	// EnvelopePaginated is the object with records, totals and page numbers.
	EnvelopePaginated
	// EnvelopeArray is a bare JSON array.
	EnvelopeArray
	// EnvelopeRecords is an object with records and nothing else.
	EnvelopeRecords
)

// ListOrder is the order of a list that is requested without sort_by.
type ListOrder int

const (
	// NewestFirst lists by created_at, latest first, ties by id.
	NewestFirst ListOrder = iota
	// Unordered lists in a stable pseudo-random order; new records appear
	// anywhere in it. That costs time in proportion to the list.
	Unordered
)

// Options are the options of the service. The zero value is the world of the demo.
// For counts and shares, 0 means the default and a negative value means none.
type Options struct {
	// Seed decides everything that looks random. Zero is a seed like any other.
	Seed uint64
	// Start is the simulated instant of day 0. Defaults to 2026-11-01T00:00:00Z.
	Start time.Time
	// HistoryDays is the number of simulated days before day 0. Campaigns and
	// orders are spread over them, so that after a longer past a smaller share of
	// them is live. Defaults to 120.
	HistoryDays int

	// Outlets is their number, which does not change. Defaults to 120.
	Outlets int
	// Listings is the number of products on sale on day 0. Defaults to 400.
	Listings int
	// Profiles is their number, which does not change. Defaults to 12.
	Profiles int
	// Campaigns is their number on day 0; more start at the same daily rate.
	// Defaults to 40.
	Campaigns int
	// Orders is their number on day 0; more are made at the same daily rate.
	// Defaults to 200.
	Orders int
	// Files is their number on day 0, without the deleted; more follow at the same
	// daily rate, and a few are deleted. Defaults to 60.
	Files int
	// Folders is their number, which does not change. Defaults to 8.
	Folders int

	// ListingChange is the share of listings whose row changes a day, by prices and
	// authorities together. Defaults to 0.06.
	ListingChange float64
	// ListingTurnover is the share of listings withdrawn a day; as many are added.
	// Defaults to 0.01.
	ListingTurnover float64
	// SilentChange is the share of outlets and of published articles whose
	// detail changes a day without any trace on a list. Defaults to 0.002.
	SilentChange float64
	// HiddenDetail makes details show what their list rows do not: campaign rows leave
	// out articles, and the outlet of an order's line has the field revision, which
	// SilentChange raises. False: list rows show both as far as the details do.
	HiddenDetail bool

	// Token is the accepted token. One that does not begin with pc_ is never
	// accepted (spec section 5). Defaults to pc_demo.
	Token string
	// TokenType is full_access, custom, read_only or any other text. Defaults
	// to read_only.
	TokenType string
	// Scopes are those of the token. Nil means those of all routes; an empty list is
	// a token without any.
	Scopes []string
	// ArticleNeedsFullAccess answers GET /articles/{id} to full_access tokens
	// only; the spec does not show its scope. False: articles.read is enough.
	ArticleNeedsFullAccess bool

	// BasePath is the prefix of every path, for example /v1. Empty: none.
	BasePath string
	// PageCap is the highest limit, in records; a higher one is silently lowered.
	// Defaults to 100.
	PageCap int
	// Envelope is the shape of the endpoints whose envelope the spec does not
	// show. Defaults to EnvelopeMixed.
	Envelope Envelope
	// PageUntotalled cuts arrays and records objects of such endpoints into pages
	// too, without totals. False: they have all records.
	PageUntotalled bool

	// Encodings are the codings, of zstd and gzip, in which it answers who accepts
	// them, the first that is accepted. Others are ignored. Empty: every answer is
	// plain.
	Encodings []string
	// PackedBytes is how many bytes of packed answers are stored, so that an answer
	// that is asked for again is not packed again: a benchmark should measure its
	// client. 0: none.
	PackedBytes int64

	// Order is the default order of the lists. Defaults to NewestFirst.
	Order ListOrder
	// ChurnEvery is the number of requests for a list after which one record was
	// inserted into it and one deleted from it. 0: none.
	ChurnEvery int

	// RateLimit is the number of requests answered per second; others get 429 with
	// Retry-After. 0: no limit.
	RateLimit float64
	// RateBurst is how many are answered at once. Defaults to RateLimit, at least 1.
	RateBurst int
	// Clock is the clock of the rate limiter. Defaults to time.Now.
	Clock func() time.Time

	// ValueFaults are mistakes in the values of records, each on one day. Where several
	// are due, all apply. Empty: none.
	ValueFaults []ValueFault

	// Faults are rules; the first that matches a request applies to its answer.
	Faults []Fault
	// FaultFunc decides before the rules; n counts all requests from 1. If it
	// returns nil, the rules decide. It is called for one request at a time and must
	// not call the service.
	FaultFunc func(r *http.Request, n int) *Fault
}

// withDefaults is the options with the defaults filled in.
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
	o.ListingChange = min(1, optionValue(o.ListingChange, 0.06))
	o.ListingTurnover = min(1, optionValue(o.ListingTurnover, 0.01))
	o.SilentChange = min(1, optionValue(o.SilentChange, 0.002))
	o.Token, o.TokenType = cmp.Or(o.Token, "pc_demo"), cmp.Or(o.TokenType, "read_only")
	o.Scopes = slices.Clone(o.Scopes)
	o.PageCap = max(1, optionValue(o.PageCap, 100))
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.RateBurst <= 0 {
		o.RateBurst = max(1, int(o.RateLimit))
	}
	return o
}

// optionValue reads a count or share: 0 is the default, a negative number none.
func optionValue[N int | float64](n, otherwise N) N {
	if n == 0 {
		return otherwise
	}
	return max(n, 0)
}
