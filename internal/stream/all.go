package stream

import "slices"

// All returns every stream of the catalog, lists before the details that
// their records name. A night that runs out of time does not read the last ones, so
// that details stand in the order of their use: what is being worked on, what
// was bought, what is on offer.
func All() []Stream {
	return slices.Concat(mainLists(), sideLists(), campaignDetails(), orderDetails(), marketDetails())
}

// Known returns every source of records: the lists, the events, and the details
// that both name.
func Known() []Stream {
	return slices.Concat(mainLists(), sideLists(), Events(), campaignDetails(), orderDetails(), marketDetails())
}

// Events returns the streams whose records are webhook events (spec 6).
// They have topics where other streams have a path: what is delivered waits in
// the inbox, and each night reads what was received since the last. Their rows stay for
// good, since an event is never taken back.
func Events() []Stream {
	return []Stream{
		{
			Name: "article_status_events", Topics: []string{"article.status_changed"}, Spec: "6.1, 6.3", Envelope: Object,
			Like:   "articles",
			Tables: []Table{{Name: "article_status_events", Key: []string{"event_id"}}},
		},
		// They differ from the comments endpoint: the contents are rich
		// text, and they do not say which article they are about.
		{
			Name: "article_comment_events", Topics: []string{"comment.created", "comment.updated", "comment.archived"},
			Spec: "6.1, 6.3", Envelope: Object, Like: "article_comments",
			Tables: []Table{{Name: "article_comment_events", Key: []string{"event_id"}, ID: "comment_id"}},
		},
	}
}

// childTable is a list inside a record: keyed by the enclosing row and the item's
// position, counted from 1. value is the column of an item that is no object.
func childTable(name, at, parent, value string) Table {
	return Table{Name: name, At: at, Key: []string{parent, "position"}, Parents: []string{parent}, Value: value}
}
