-- Which ids of a stream of details are live, and which ones events are about. These are
-- parts of the plan in 41-plan.sql.

-- name: known_rows
-- Columns of a table as far as they are known tonight: staged rows and rows of main. A
-- row that is in both may count twice, once with its last values; that makes a record
-- live for one night more, never less.
SELECT {columns} FROM {table}

-- name: no_rows
-- The known rows of a table that no stream fills.
SELECT {columns} WHERE FALSE

-- name: no_row
NULL::{type} AS {column}

-- name: live_campaigns
-- A campaign is live while it changes, and while an article of it is not published. An
-- article is published once it has a live URL: the service does not list the prefixes
-- that its status can have.
SELECT id FROM ({campaigns}) WHERE greatest(created_at, updated_at) >= {now} - INTERVAL {days} DAY
UNION ALL SELECT campaign_id FROM ({articles}) WHERE coalesce(live_url, '') = ''

-- name: changed_campaigns
-- A campaign whose own row changed tonight: an article may have been added, which
-- updated_at need not show.
SELECT id FROM {plan} WHERE why = 'changed'

-- name: live_articles
SELECT id FROM ({campaign_articles}) WHERE coalesce(live_url, '') = '' OR campaign_id IN ({live_campaigns})
UNION ALL SELECT id FROM ({articles}) WHERE coalesce(live_url, '') = ''

-- name: live_profiles
SELECT profile_id FROM ({campaigns}) WHERE id IN ({live_campaigns})
UNION ALL SELECT profile_id FROM ({orders}) WHERE greatest(created_at, updated_at, date_paid) >= {now} - INTERVAL {days} DAY
UNION ALL SELECT id FROM ({profiles}) WHERE greatest(created_at, updated_at) >= {now} - INTERVAL {days} DAY

-- name: nothing_live
SELECT NULL::VARCHAR WHERE FALSE

-- name: has_events
SELECT EXISTS ({statuses}) OR EXISTS ({comments})

-- name: touched_articles
-- The articles that events are about. The event of a comment names no article; the
-- comment, or the one that it answers, leads to it where it is known.
SELECT article_id AS id, received_at AS heard FROM ({statuses})
UNION ALL SELECT c.article_id, e.received_at FROM (
    SELECT comment_id AS id, received_at FROM ({comments})
    UNION ALL SELECT parent_comment_id, received_at FROM ({comments})) e
JOIN ({known_comments}) c USING (id)

-- name: touched_campaigns
SELECT campaign_id AS id, received_at AS heard FROM ({statuses})
UNION ALL SELECT a.campaign_id, t.heard FROM ({touched_articles}) t JOIN ({articles}) a USING (id)

-- name: last_touched
-- What was read before the last event about it is read again.
SELECT id, max(heard) AS heard FROM ({touched}) GROUP BY id

-- name: nothing_touched
SELECT NULL::VARCHAR AS id, NULL::TIMESTAMPTZ AS heard WHERE FALSE
