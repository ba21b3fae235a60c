-- Comments that were created, updated or archived, from webhook deliveries. Key: event_id.
CREATE TABLE article_comment_events (
    event_id          VARCHAR NOT NULL, -- field 1
    topic             VARCHAR,          -- field 2
    comment_id        VARCHAR,          -- field 3, references article_comments.id
    content_text      VARCHAR,          -- field 4
    content           JSON,             -- field 5
    author_name       VARCHAR,          -- field 6
    parent_comment_id VARCHAR,          -- field 7, references article_comments.id
    created_at        TIMESTAMPTZ,      -- field 8
    updated_at        TIMESTAMPTZ,      -- field 9
    source            VARCHAR,          -- field 10
    sent_at           TIMESTAMPTZ,      -- field 11
    received_at       TIMESTAMPTZ,      -- field 12
    extra             JSON              -- field 13
);

COMMENT ON TABLE article_comment_events IS 'Comments created, updated or archived, one row per webhook event; rows are never removed. The article of a comment is in article_comments. From the topics comment.created, comment.updated and comment.archived.';
COMMENT ON COLUMN article_comment_events.event_id IS 'Id of the event. Repeated deliveries of one event are stored once. Spec 6.2 x-hook-event-id.';
COMMENT ON COLUMN article_comment_events.topic IS 'Kind of event: comment.created, comment.updated or comment.archived. Spec 6.1.';
COMMENT ON COLUMN article_comment_events.comment_id IS 'Id of the comment: article_comments.id. Spec 6.3 id.';
COMMENT ON COLUMN article_comment_events.content_text IS 'Plain text of the comment: blocks as lines, list items marked, mentions by name, links with their addresses. From content.';
COMMENT ON COLUMN article_comment_events.content IS 'The comment as sent, a rich-text document. Spec 6.3 content.';
COMMENT ON COLUMN article_comment_events.author_name IS 'Name of the author. Spec 6.3 author.name.';
COMMENT ON COLUMN article_comment_events.parent_comment_id IS 'Id of the comment that this reply answers; NULL if it is not a reply. Spec 6.3 parent_comment_id.';
COMMENT ON COLUMN article_comment_events.created_at IS 'When the comment was created, UTC. Spec 6.3 created_at.';
COMMENT ON COLUMN article_comment_events.updated_at IS 'When the comment was last changed, UTC. Spec 6.3 updated_at.';
COMMENT ON COLUMN article_comment_events.source IS 'Source of the event; the specification lists no values. Spec 6.2 x-hook-source.';
COMMENT ON COLUMN article_comment_events.sent_at IS 'When the delivery was sent, UTC; not covered by its signature. Spec 6.2 x-hook-timestamp.';
COMMENT ON COLUMN article_comment_events.received_at IS 'When the delivery was received here, UTC.';
COMMENT ON COLUMN article_comment_events.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
