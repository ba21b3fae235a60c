-- Webhook events, after the lists and before the details that they can make live.

-- name: lineage
SELECT run_id FROM meta.runs WHERE snapshot_at IS NOT NULL

-- name: new_events
-- Of several deliveries of one event, the first counts.
SELECT seq, event_id FROM stage.event_ids ANTI JOIN meta.webhook_events USING (event_id)
QUALIFY row_number() OVER (PARTITION BY event_id ORDER BY received_at, seq) = 1
ORDER BY seq

-- name: write_events
-- After the merge, with what became of each.
INSERT INTO meta.webhook_events (event_id, topic, source, sent_at, received_at, outcome, body, body_sha256, run_id)
SELECT event_id, topic, source, try_cast(sent_at AS TIMESTAMPTZ), make_timestamptz(received_at), outcome, body, body_sha256, {run}
FROM stage.events ORDER BY seq
