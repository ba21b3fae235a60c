package stream

import "slices"

// Events returns the streams whose records are webhook events (spec section 6).
// They have topics where other streams have a path: what is delivered waits in
// the inbox, and each night reads what came since the last. Their rows stay for
// good, since an event is never taken back.
func Events() []Stream { return []Stream{articleStatusEvents(), articleCommentEvents()} }

// Known returns every source of records: the lists, the events, and the details
// that both name.
func Known() []Stream {
	all := All()
	first := slices.IndexFunc(all, Stream.IsDetail)
	return slices.Insert(all, first, Events()...)
}

// IsEvents reports whether the stream's records are webhook events.
func (s Stream) IsEvents() bool { return len(s.Topics) > 0 }

func articleStatusEvents() Stream {
	return Stream{
		Name: "article_status_events", Topics: []string{"article.status_changed"}, Spec: "6.1, 6.3", Envelope: Object,
		Like:   "articles",
		Tables: []Table{{Name: "article_status_events", Key: []string{"event_id"}}},
	}
}

// articleCommentEvents differ from the comments endpoint: the contents are rich
// text, and they do not say which article they are about.
func articleCommentEvents() Stream {
	return Stream{
		Name: "article_comment_events", Topics: []string{"comment.created", "comment.updated", "comment.archived"},
		Spec: "6.1, 6.3", Envelope: Object, Like: "article_comments",
		Tables: []Table{{Name: "article_comment_events", Key: []string{"event_id"}, ID: "comment_id"}},
	}
}
