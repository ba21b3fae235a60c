package trials

import (
	"placementsync/internal/sim"
)

// SmallWorld has a few records of every kind.
func SmallWorld() sim.Options {
	return sim.Options{Seed: 1, Token: Token, Outlets: 4, Listings: 9, Profiles: 3, Campaigns: 3, Orders: 9, Files: 5, Folders: 2}
}

// RichWorld has records with all special cases of the demo service. Many of them change every day.
func RichWorld() sim.Options {
	return sim.Options{Seed: 7, Token: Token, Outlets: 40, Listings: 90, Profiles: 5, Campaigns: 12, Orders: 70, Files: 20,
		Folders: 3, ListingTurnover: 0.05, SilentChange: 0.1}
}

// TrialWorld is a small world that changes every day.
func TrialWorld(seed uint64) sim.Options {
	return sim.Options{Seed: seed, Token: Token, Outlets: 5, Listings: 20, Profiles: 3, Campaigns: 4, Orders: 12, Files: 6, Folders: 2,
		ListingTurnover: 0.1, SilentChange: 0.2}
}

// FewStreams returns the streams that are enough to test most faults: a list, and a list with the
// details of its records.
func FewStreams() []string { return []string{"product_listings", "orders", "order_details"} }

// SomeStreams returns streams of every kind: lists, lists of a parent record, details that are read
// if their row in a list changed, and details that are read as long as they are live.
func SomeStreams() []string {
	return append(FewStreams(), "campaigns", "campaign_articles", "files", "tags")
}

// StreamsWithEvents returns the streams of campaigns and articles. The service sends events about their records.
func StreamsWithEvents() []string {
	return []string{"campaigns", "campaign_details", "campaign_articles", "campaign_status_counts", "articles", "article_comments"}
}
