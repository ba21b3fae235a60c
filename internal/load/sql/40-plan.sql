-- The plan of a detail stream: every id that could be requested, with the reason of the request.
--
-- A detail is live while it can change without a change in any list. Live details are read every night.
-- The queries from known_rows on select the ids of live details, and the ids that webhook events name. The
-- plan uses them.

-- name: earlier_nights
SELECT snapshot_at FROM meta.runs WHERE snapshot_at IS NOT NULL AND kind IS DISTINCT FROM 'refresh' ORDER BY snapshot_at DESC

-- name: create_plan
-- by_row is true if the rows of a list show all changes of the details. If by_row is true, a detail is
-- settled while its row is unchanged. If by_row is false, a detail is settled while it is not live. A
-- settled detail is due in one of {nights} nights, chosen by the hash of its id. It is overdue if it was
-- last read {nights} or more nights ago. keeps_rows means that the rows of the id are kept if the night
-- has no time to read the detail.
CREATE OR REPLACE TABLE {plan} AS
SELECT id, fingerprint, read_at, created_at, overdue, FALSE AS unread, fingerprint IS NULL OR NOT changed AS keeps_rows,
    CASE
        WHEN {all} THEN 'all'
        WHEN new THEN 'new'
        WHEN event THEN 'event'
        WHEN {by_row} AND changed THEN 'changed'
        WHEN NOT {by_row} AND live THEN 'live'
        WHEN due OR overdue THEN 'recheck'
        ELSE 'carried'
    END AS why
FROM (
    SELECT i.id, i.created_at, f.fingerprint, d.read_at,
        d.fingerprint IS DISTINCT FROM f.fingerprint AS changed,
        d.id IS NULL OR d.failed_at IS NOT NULL AS new,
        e.event_at > d.read_at AS event,
        i.id IN ({live_ids}) AS live,
        coalesce(md5_number_lower(i.id) % nullif({nights}, 0) = {tonight}, FALSE) AS due,
        coalesce(d.read_at < {overdue_since}, FALSE) AS overdue
    FROM ({candidate_ids}) i
    LEFT JOIN ({fingerprints}) f USING (id)
    LEFT JOIN ({last_events}) e USING (id)
    LEFT JOIN meta.details d ON d.stream = {stream} AND d.id = i.id)

-- name: candidate_ids
-- Every id that could be requested, without duplicates. created_at is the time of the newest row with
-- the id, or NULL if the rows have no time. The ids '', '.' and '..' are omitted, because they would
-- change the path of a request.
SELECT id, max(created_at) AS created_at FROM ({rows}) WHERE id NOT IN ('', '.', '..') GROUP BY id

-- name: ids_in_table
SELECT {column} AS id, {created_at} AS created_at FROM {table}

-- name: fingerprints
-- The fingerprint of an id is a sum over all rows that contain the id tonight. The hash of a row is a sum
-- over the values of the row. So the sum of the hashes would not change if two rows swapped a value, for
-- example two prices. Therefore each hash is first combined with the product of its halves.
SELECT id, sum(xor(row_hash, (row_hash >> 32) * (row_hash & 4294967295)))::VARCHAR AS fingerprint FROM ({rows}) GROUP BY id

-- name: no_fingerprints
SELECT NULL::VARCHAR AS id, NULL::VARCHAR AS fingerprint WHERE FALSE

-- name: rows_with_id
SELECT {column} AS id, row_hash, seq FROM {list}

-- name: rows_without_id
-- Rows of the list that do not contain the id of the detail. The id is looked up in another table of
-- main.
SELECT k.{column}, r.row_hash, r.seq FROM {list} r JOIN {lookup} k ON k.{lookup_key} = r.{key} WHERE coalesce(r.{column}, '') = ''

-- name: record_hashes
SELECT id, row_hash FROM ({rows})

-- name: child_row_hashes
-- All rows of one copy of a record have the same seq.
SELECT r.id, c.row_hash FROM {items} c JOIN ({rows}) r USING (seq)

-- name: create_refresh_plan
-- A refresh requests only the targets, and carries all other ids. A target need not be a known id. The
-- fingerprint is not changed, because a refresh reads no lists.
CREATE OR REPLACE TABLE {plan} AS
SELECT i.id, d.fingerprint, CASE WHEN i.id IN ({targets}) THEN 'event' ELSE 'carried' END AS why,
    d.read_at, NULL::TIMESTAMPTZ AS created_at, FALSE AS overdue, FALSE AS unread, TRUE AS keeps_rows
FROM (SELECT id FROM ({candidate_ids}) UNION SELECT unnest([{targets}])) i
LEFT JOIN meta.details d ON d.stream = {stream} AND d.id = i.id

-- name: count_plan
SELECT count(*) FILTER (why <> 'carried' AND NOT unread), count(*) FILTER (why = 'recheck' AND NOT unread),
    count(*) FILTER (why = 'carried'), count(*) FILTER (unread), min(read_at) FILTER (why = 'carried')
FROM {plan}

-- name: ids_to_request
-- Ids that were never read come first, newest first. The other ids follow, in the order in which they were
-- last read. If the time of a night ends early, the next night then reads other ids.
SELECT id FROM {plan} WHERE why <> 'carried'
ORDER BY read_at NULLS FIRST, created_at DESC NULLS LAST, id

-- name: carry_rechecks
-- Carries the settled ids that the night had no time to recheck. Overdue ids are not carried: mark_unread
-- marks them as unread.
UPDATE {plan} SET why = 'carried' WHERE why = 'recheck' AND NOT overdue AND id NOT IN (SELECT id FROM {requested})

-- name: mark_unread
-- carry_rechecks has already marked the carried ids.
UPDATE {plan} SET unread = TRUE WHERE why <> 'carried' AND id NOT IN (SELECT id FROM {requested})

-- name: known_ids
-- The ids for which a detail stream is known to have records.
SELECT DISTINCT {param} FROM ({rows}) WHERE {param} IS NOT NULL

-- name: count_listed
-- Counts the ids that returned 404 although a list contains them, and those among them that have stored rows. The
-- third column is the oldest time at which such rows were read, or NULL if one of these times is unknown.
SELECT count(*), count(*) FILTER (has_rows), CASE WHEN bool_and(NOT has_rows OR read_at IS NOT NULL) THEN min(read_at) FILTER (has_rows) END
FROM (
    SELECT d.read_at, r.id IN (SELECT {param} FROM {main}) AS has_rows
    FROM {requested} r LEFT JOIN meta.details d ON d.stream = {stream} AND d.id = r.id
    WHERE r.outcome = '404' AND r.id IN ({listed}))

-- name: keep_listed
-- A 404 response does not prove a deletion if a list still contains the id.
UPDATE {requested} SET outcome = 'missed' WHERE outcome = '404' AND id IN ({listed})

-- name: listed_ids
SELECT {column} FROM {table}

-- name: listed_ids_of_carried
-- The ids in the stored rows of the details that were not read tonight.
SELECT {column} FROM {main} WHERE {param} NOT IN (SELECT id FROM {requested} WHERE outcome IN ('answered', '404'))

-- name: known_rows
-- The rows of a staging table or of main. The queries below read both, so a record can have a row with
-- new values and a row with old values. The record is live if one of the two rows meets a condition.
SELECT {columns} FROM {table}

-- name: no_rows
-- For a table that no stream fills.
SELECT {columns} WHERE FALSE

-- name: null_column
-- A column of the statement no_rows.
NULL::{type} AS {column}

-- name: no_live_ids
SELECT NULL::VARCHAR WHERE FALSE

-- name: live_campaigns
-- A campaign is live for some days after a change, and while one of its articles is not
-- published. An article with a live URL is published. The column status is not used, because the
-- service does not document its values.
SELECT id FROM ({campaigns}) WHERE greatest(created_at, updated_at) >= {now} - INTERVAL {days} DAY
UNION ALL SELECT campaign_id FROM ({campaign_articles}) WHERE coalesce(live_url, '') = ''

-- name: changed_campaigns
-- Campaigns whose row changed since they were read, also if they are read for another reason. They are live, because
-- the new row may mean a new article, and updated_at may be unchanged.
SELECT id FROM {plan} WHERE why = 'changed' OR (NOT keeps_rows AND read_at IS NOT NULL)

-- name: live_articles
SELECT id FROM ({campaign_articles}) WHERE campaign_id IN ({live_campaigns})
UNION ALL SELECT id FROM ({articles}) WHERE coalesce(live_url, '') = ''

-- name: live_profiles
SELECT profile_id FROM ({campaigns}) WHERE id IN ({live_campaigns})
UNION ALL SELECT profile_id FROM ({orders}) WHERE greatest(created_at, updated_at, date_paid) >= {now} - INTERVAL {days} DAY
UNION ALL SELECT id FROM ({profiles}) WHERE greatest(created_at, updated_at) >= {now} - INTERVAL {days} DAY

-- name: articles_with_events
-- A comment event does not contain the id of the article. The id is looked up by the comment or by its
-- parent comment.
SELECT article_id AS id, received_at AS event_at FROM ({status_events})
UNION ALL SELECT c.article_id, e.received_at FROM (
    SELECT comment_id AS id, received_at FROM ({comment_events})
    UNION ALL SELECT parent_comment_id, received_at FROM ({comment_events})) e
JOIN ({known_comments}) c USING (id)

-- name: campaigns_with_events
SELECT campaign_id AS id, received_at AS event_at FROM ({status_events})
UNION ALL SELECT a.campaign_id, e.event_at FROM ({articles_with_events}) e JOIN ({articles}) a USING (id)

-- name: last_events
-- The time of the last event of each id. A detail that was read before its last event is read again.
SELECT id, max(event_at) AS event_at FROM ({ids_with_events}) GROUP BY id

-- name: no_ids_with_events
SELECT NULL::VARCHAR AS id, NULL::TIMESTAMPTZ AS event_at WHERE FALSE
