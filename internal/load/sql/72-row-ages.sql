-- For each stream: the number of its rows in the snapshot, {old}, its rows that were not read tonight, and
-- {since}, the oldest read time of a detail stream. {old} is all_rows, unstaged_rows, rows_of_ids or 0.

-- name: count_row_ages
SELECT {stream}, (SELECT count(*) FROM {main} m WHERE {stream_condition}), {old}, {since}

-- name: all_rows
(SELECT count(*) FROM {main} m WHERE {stream_condition})

-- name: unstaged_rows
-- Rows of main that were not staged tonight.
(SELECT count(*) FROM {main} m ANTI JOIN {staged} f ON {same_key} WHERE {stream_condition})

-- name: rows_of_ids
(SELECT count(*) FROM {main} m WHERE {stream_condition} AND m.{param} IN (SELECT id FROM ({ids})))

-- name: oldest_of_ids
(SELECT min(read_at) FROM ({ids}))

-- name: earlier_ids
-- Ids of a detail stream that were last read on an earlier night.
SELECT id, read_at FROM meta.details WHERE stream = {stream} AND read_at < {now}
