-- Webhook events with a valid signature, each once. Key: event_id.
CREATE TABLE webhook_events (
    event_id    VARCHAR NOT NULL, -- field 1
    topic       VARCHAR,          -- field 2
    source      VARCHAR,          -- field 3
    sent_at     TIMESTAMPTZ,      -- field 4
    received_at TIMESTAMPTZ,      -- field 5
    outcome     VARCHAR,          -- field 6
    body        VARCHAR,          -- field 7
    body_sha256 VARCHAR,          -- field 8
    run_id      VARCHAR           -- field 9, references runs.run_id
);

COMMENT ON TABLE webhook_events IS 'Webhook events, one row per event, also after repeated deliveries. Rows are never removed.';
COMMENT ON COLUMN webhook_events.event_id IS 'Id of the event. A delivery without an id gets the id "body:" followed by a hash of its topic and body. An id that is too long or not UTF-8 is replaced by "id:" and its hash. Spec 6.2 x-hook-event-id.';
COMMENT ON COLUMN webhook_events.topic IS 'Topic; unknown topics are kept. Spec 6.2 x-hook-topic.';
COMMENT ON COLUMN webhook_events.source IS 'Source; the specification lists no values. Spec 6.2 x-hook-source.';
COMMENT ON COLUMN webhook_events.sent_at IS 'When the delivery was sent, UTC; not covered by its signature. Spec 6.2 x-hook-timestamp.';
COMMENT ON COLUMN webhook_events.received_at IS 'When the delivery was first received here, UTC.';
COMMENT ON COLUMN webhook_events.outcome IS 'Outcome: stored (in the table of its topic), rejected (in meta.rejects under the id of the event) or unknown_topic (only in this table).';
COMMENT ON COLUMN webhook_events.body IS 'The body as delivered, JSON unless the event was rejected; bytes that are not UTF-8 became U+FFFD. NULL if privacy rules drop it.';
COMMENT ON COLUMN webhook_events.body_sha256 IS 'SHA-256 of the received, unpacked body, in hex. The signature covers only the body, so two events with the same hash may be a forged repetition.';
COMMENT ON COLUMN webhook_events.run_id IS 'Run that loaded the event from the inbox: runs.run_id.';
