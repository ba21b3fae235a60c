-- The rows of a night in the tables of meta.

-- name: published_runs
-- The published runs on which this catalog is based.
SELECT run_id FROM meta.runs WHERE snapshot_at IS NOT NULL

-- name: known_events
-- Events are staged after the lists and before the details, because a detail that an event names is read again.
SELECT event_id FROM (SELECT event_id FROM meta.webhook_events UNION ALL SELECT event_id FROM stage.events)
WHERE event_id IN ({ids})

-- name: write_events
-- Runs after the merge.
INSERT INTO meta.webhook_events (event_id, topic, source, sent_at, received_at, outcome, body, body_sha256, run_id)
SELECT event_id, topic, source, try_cast(sent_at AS TIMESTAMPTZ), make_timestamptz(received_at), outcome, body, body_sha256, {run}
FROM stage.events ORDER BY seq

-- name: tables_with_rejects
SELECT DISTINCT table_name FROM meta.rejects

-- name: delete_rejects
-- Deletes the earlier rejects of a table that was read tonight. {unread} selects the rejects of rows that
-- were not read tonight. These rejects are kept, because the stored value is still NULL. If the
-- same value was rejected again tonight, the earlier reject is removed in any case.
DELETE FROM meta.rejects r WHERE table_name = {table} AND (NOT coalesce({unread}, FALSE) OR EXISTS (FROM stage.rejects s
    WHERE s.table_name = r.table_name AND (s.key, s.parent, s.column_name) IS NOT DISTINCT FROM (r.key, r.parent, r.column_name)))

-- name: unread_keys
-- The keys of stored rows that were not read tonight.
(SELECT concat_ws('/', {key}) FROM {main} EXCEPT SELECT concat_ws('/', {key}) FROM {desired})

-- name: unread_parents
-- The ids of parents whose rows were not read tonight.
(SELECT id FROM {plan} EXCEPT SELECT id FROM {requested} WHERE outcome IN ('answered', '404'))

-- name: write_rejects
-- Each pass over a list, and the detail of the record, reject the same value again. For a row with a key,
-- equal rejects are written once. Rejects without a key, and rejects of whole records, can be equal
-- although the records differ. Their copies are counted for each pass, and only the copies of the pass
-- with the most copies are written. If a response was received under two page numbers, only the rejects
-- under the lower number are written.
INSERT INTO meta.rejects (run_id, seq, table_name, key, parent, column_name, raw, reason, page, position)
SELECT {run}, row_number() OVER (ORDER BY table_name, page, position, seq, key, column_name),
    table_name, key, parent, column_name, raw, reason, page, position
FROM (
    SELECT * EXCLUDE (pass_name, copies, best_pass) FROM (
        SELECT *, first_value(pass_name) OVER (PARTITION BY table_name, key, parent, column_name, raw, reason ORDER BY copies DESC, pass_name) AS best_pass
        FROM (
            SELECT *, concat_ws(' ', stream, pass) AS pass_name,
                count(*) OVER (PARTITION BY table_name, key, parent, column_name, raw, reason, stream, pass) AS copies
            FROM (FROM stage.rejects QUALIFY coalesce(page, 0) = min(coalesce(page, 0)) OVER (PARTITION BY stream, pass, response_hash))))
    WHERE pass_name = best_pass
    QUALIFY column_name IS NULL OR key IS NULL OR row_number() OVER (PARTITION BY table_name, key, parent, column_name, raw, reason ORDER BY seq) = 1)
WHERE table_name IN ({tables})

-- name: count_drift
-- A record counts once, even if it was read in several passes and as a detail.
CREATE OR REPLACE TABLE stage.drift_counts AS
SELECT d.*, n.count FROM stage.drift d
JOIN (SELECT drift_index, count(DISTINCT record) AS count FROM stage.drift_records GROUP BY drift_index) n USING (drift_index)

-- name: update_drift
-- The first run, and the key and the sample of the first record, are not changed.
UPDATE meta.drift m SET last_run = {run}, count = m.count + s.count
FROM stage.drift_counts s WHERE m.table_name = s.table_name AND m.path = s.path AND m.kind = s.kind

-- name: insert_drift
INSERT INTO meta.drift (table_name, path, kind, first_run, last_run, count, sample, key)
SELECT table_name, path, kind, {run}, {run}, count, sample, key FROM stage.drift_counts ANTI JOIN meta.drift USING (table_name, path, kind)

-- name: known_runs
SELECT run_id FROM meta.runs

-- name: forget_run
-- A resumed run replaces its own rows.
DELETE FROM meta.runs WHERE run_id = {run};
DELETE FROM meta.streams WHERE run_id = {run};
DELETE FROM meta.requests WHERE run_id = {run};
DELETE FROM meta.checks WHERE run_id = {run}

-- name: accept_check
-- Stores the time at which an operator accepted the check and published the held run. The next night
-- stores it, because the version of the held run is immutable.
UPDATE meta.checks SET accepted_at = {at} WHERE run_id = {run} AND check_name = {check} AND accepted_at IS NULL

-- name: insert_values
INSERT INTO {table} ({columns}) VALUES {rows}

-- name: count_row_ages
-- For each stream: the number of its rows in the snapshot, {old}, its rows that were not read tonight, and
-- {since}, the oldest read time of a detail stream. {old} is all_rows, unstaged_rows, rows_of_ids or 0.
SELECT {stream}, (SELECT count(*) FROM {main} m WHERE {stream_condition}), {old}, {since}

-- name: all_rows
(SELECT count(*) FROM {main} m WHERE {stream_condition})

-- name: unstaged_rows
-- Rows of main that were not staged tonight.
(SELECT count(*) FROM {main} m ANTI JOIN {staged} s ON {same_key} WHERE {stream_condition})

-- name: rows_of_ids
(SELECT count(*) FROM {main} m WHERE {stream_condition} AND m.{param} IN (SELECT id FROM ({ids})))

-- name: oldest_of_ids
(SELECT min(read_at) FROM ({ids}))

-- name: earlier_ids
-- Ids of a detail stream that were last read on an earlier night.
SELECT id, read_at FROM meta.details WHERE stream = {stream} AND read_at < {now}
