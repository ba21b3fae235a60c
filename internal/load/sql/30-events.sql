-- Webhook events are staged after the lists and before the details, because a detail that an event names
-- is read again.

-- name: published_runs
-- The published runs on which this catalog is based.
SELECT run_id FROM meta.runs WHERE snapshot_at IS NOT NULL

-- name: known_events
SELECT event_id FROM (SELECT event_id FROM meta.webhook_events UNION ALL SELECT event_id FROM stage.events)
WHERE event_id IN ({ids})

-- name: write_events
-- Runs after the merge.
INSERT INTO meta.webhook_events (event_id, topic, source, sent_at, received_at, outcome, body, body_sha256, run_id)
SELECT event_id, topic, source, try_cast(sent_at AS TIMESTAMPTZ), make_timestamptz(received_at), outcome, body, body_sha256, {run}
FROM stage.events ORDER BY seq
