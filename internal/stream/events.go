package stream

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
