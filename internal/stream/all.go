package stream

import "slices"

// All returns all lists and details. Each list is before the details that its records name.
// Details are in the order of importance: current work, purchases, offers. If a night runs
// out of time, the last details are not read.
func All() []Stream {
	return slices.Concat(mainLists(), referenceLists(), campaignDetails(), orderDetails(), offerDetails())
}

// AllWithEvents returns all sources of records: lists, events and details.
func AllWithEvents() []Stream {
	return slices.Concat(mainLists(), referenceLists(), Events(), campaignDetails(), orderDetails(), offerDetails())
}

// Names returns the names of streams.
func Names(all []Stream) []string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	return names
}

// Events returns the streams whose records are webhook events (spec 6). Their rows are never removed.
func Events() []Stream {
	return []Stream{
		{
			Name: "article_status_events", Topics: []string{"article.status_changed"}, Spec: "6.1, 6.3", Envelope: Object,
			SameKindAs: "articles",
			Tables:     []Table{{Name: "article_status_events", Key: []string{"event_id"}}},
		},
		// In an event, unlike at the endpoint, the content of a comment is rich text, and the
		// comment does not name its article.
		{
			Name: "article_comment_events", Topics: []string{"comment.created", "comment.updated", "comment.archived"},
			Spec: "6.1, 6.3", Envelope: Object, SameKindAs: "article_comments",
			Tables: []Table{{Name: "article_comment_events", Key: []string{"event_id"}, ID: "comment_id"}},
		},
	}
}

// childTable returns the table of a list or object inside a record. Its key is the parent column
// and the position of the item, counted from 1. value is the column for items that are not objects.
func childTable(name, at, parent, value string) Table {
	return Table{Name: name, At: at, Key: []string{parent, "position"}, Parents: []string{parent}, Value: value}
}
