-- Every webhook delivery that was proven by its signature, once. Key: event_id.
CREATE TABLE webhook_events (
    event_id    VARCHAR NOT NULL, -- field 1
    topic       VARCHAR,          -- field 2
    source      VARCHAR,          -- field 3
    sent_at     TIMESTAMPTZ,      -- field 4
    received_at TIMESTAMPTZ,      -- field 5
    outcome     VARCHAR,          -- field 6
    body        VARCHAR,          -- field 7
    body_sha256 VARCHAR,          -- field 8
    run_id      VARCHAR           -- field 9
);

COMMENT ON TABLE webhook_events IS 'Webhook events in the order of their nights, one row per event however often it was delivered. No night and no retention removes them.';
COMMENT ON COLUMN webhook_events.event_id IS 'Id of the event; body: and a hash where the delivery had none. Spec 6.2 x-hook-event-id.';
COMMENT ON COLUMN webhook_events.topic IS 'Topic, also an unknown one. Spec 6.2 x-hook-topic.';
COMMENT ON COLUMN webhook_events.source IS 'Source; the set is not shown. Spec 6.2 x-hook-source.';
COMMENT ON COLUMN webhook_events.sent_at IS 'When the delivery was sent, UTC; not covered by its signature. Spec 6.2 x-hook-timestamp.';
COMMENT ON COLUMN webhook_events.received_at IS 'When the delivery was first received here, UTC.';
COMMENT ON COLUMN webhook_events.outcome IS 'What became of it: stored (a row of its table), rejected (meta.rejects has it under its id) or unknown_topic (only here).';
COMMENT ON COLUMN webhook_events.body IS 'The body as delivered, JSON unless it was rejected; bytes that are no text became U+FFFD. NULL when privacy rules withhold it.';
COMMENT ON COLUMN webhook_events.body_sha256 IS 'SHA-256 of the exact body, in hex. The signature covers only the body: look into one body that came under two ids.';
COMMENT ON COLUMN webhook_events.run_id IS 'Run that took it from the inbox: runs.run_id.';
