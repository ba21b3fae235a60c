-- A detail is live while it can change without a change in any list. Live details are read every night.
-- These queries select the ids of live details, and the ids that webhook events name. The plan in
-- 41-plan.sql uses them.

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
-- Campaigns whose row changed tonight. An article may have been added without a change of
-- updated_at.
SELECT id FROM {plan} WHERE why = 'changed'

-- name: live_articles
SELECT id FROM ({campaign_articles}) WHERE campaign_id IN ({live_campaigns})
UNION ALL SELECT id FROM ({articles}) WHERE coalesce(live_url, '') = ''

-- name: live_profiles
SELECT profile_id FROM ({campaigns}) WHERE id IN ({live_campaigns})
UNION ALL SELECT profile_id FROM ({orders}) WHERE greatest(created_at, updated_at, date_paid) >= {now} - INTERVAL {days} DAY
UNION ALL SELECT id FROM ({profiles}) WHERE greatest(created_at, updated_at) >= {now} - INTERVAL {days} DAY

-- name: has_events
SELECT EXISTS ({status_events}) OR EXISTS ({comment_events})

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
