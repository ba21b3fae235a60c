-- Status changes of articles, from webhook deliveries. Key: event_id.
CREATE TABLE article_status_events (
    event_id      VARCHAR NOT NULL, -- field 1
    article_id    VARCHAR,          -- field 2, references articles.id
    campaign_id   VARCHAR,          -- field 3, references campaigns.id
    profile_id    VARCHAR,          -- field 4, references profiles.id
    status_id     VARCHAR,          -- field 5
    status_prefix VARCHAR,          -- field 6
    effective_at  TIMESTAMPTZ,      -- field 7
    changed_at    TIMESTAMPTZ,      -- field 8
    topic         VARCHAR,          -- field 9
    source        VARCHAR,          -- field 10
    sent_at       TIMESTAMPTZ,      -- field 11
    received_at   TIMESTAMPTZ,      -- field 12
    extra         JSON              -- field 13
);

COMMENT ON TABLE article_status_events IS 'Status changes of articles with their exact times, one row per webhook event; rows are never removed. Changes without a delivery are missing; article_statuses contains the complete history of the service. From the topic article.status_changed.';
COMMENT ON COLUMN article_status_events.event_id IS 'Id of the event. Repeated deliveries of one event are stored once. Spec 6.2 x-hook-event-id.';
COMMENT ON COLUMN article_status_events.article_id IS 'Id of the article: articles.id. Spec 6.3 article_id.';
COMMENT ON COLUMN article_status_events.campaign_id IS 'Id of the campaign: campaigns.id. Spec 6.3 campaign_id.';
COMMENT ON COLUMN article_status_events.profile_id IS 'Id of the client profile: profiles.id. Spec 6.3 profile_id.';
COMMENT ON COLUMN article_status_events.status_id IS 'Id of the new status. Spec 6.3 status.id.';
COMMENT ON COLUMN article_status_events.status_prefix IS 'Stable identifier of the new status; the specification lists no values. Spec 6.3 status.prefix.';
COMMENT ON COLUMN article_status_events.effective_at IS 'When the status takes effect, UTC. Spec 6.3 effective_at.';
COMMENT ON COLUMN article_status_events.changed_at IS 'When the status was changed, UTC. Spec 6.3 changed_at.';
COMMENT ON COLUMN article_status_events.topic IS 'Topic of the event. Spec 6.1.';
COMMENT ON COLUMN article_status_events.source IS 'Source of the event; the specification lists no values. Spec 6.2 x-hook-source.';
COMMENT ON COLUMN article_status_events.sent_at IS 'When the delivery was sent, UTC; not covered by its signature. Spec 6.2 x-hook-timestamp.';
COMMENT ON COLUMN article_status_events.received_at IS 'When the delivery was received here, UTC.';
COMMENT ON COLUMN article_status_events.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
