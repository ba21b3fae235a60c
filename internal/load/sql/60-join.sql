-- The desired rows of main. Where a list and a detail stream fill the same tables, their
-- rows are joined: d is the detail, l the row of the list, m the stored row of an earlier
-- night, x the united unknown fields. The first value that is not empty is taken.

-- name: list_rows
-- The rows of a list without those of kept details: main has them joined already, and the
-- row of the list alone would remove the values of the detail.
SELECT * FROM {list} WHERE {param} NOT IN {kept}

-- name: kept_details
-- Details whose rows in main stay: carried by the plan, missed, or unread. An unread record
-- whose row in the list is new or changed takes the values of that row.
(SELECT {param} FROM {main} WHERE {param} IN (
    SELECT id FROM {plan} WHERE why = 'carried' OR unread AND stays
    UNION ALL SELECT id FROM {asked} WHERE outcome = 'missed'))

-- name: extras_to_unite
-- Records whose unknown fields differ between two sources: the key, the fields of the source
-- without priority, and those of the source with priority. The detail has priority over the
-- list, and the list over main.
SELECT o.{key}, u.extra::VARCHAR, o.extra FROM {detail} o JOIN ({list_rows}) u USING ({key}) WHERE o.extra <> u.extra::VARCHAR
UNION ALL SELECT o.{key}, u.extra::VARCHAR, o.extra FROM ({list_rows}) o JOIN {main} u USING ({key}) ANTI JOIN {detail} w USING ({key}) WHERE o.extra <> u.extra::VARCHAR
UNION ALL SELECT o.{key}, u.extra::VARCHAR, o.extra FROM {detail} o JOIN {main} u USING ({key}) ANTI JOIN ({list_rows}) w USING ({key}) WHERE o.extra <> u.extra::VARCHAR

-- name: unite_records
-- The stored row is used where the list or the detail was not read tonight.
CREATE TABLE {desired} AS SELECT *, {fingerprint} AS row_hash FROM (
    SELECT {cells}, coalesce(d.seq, l.seq) AS seq
    FROM {detail} d FULL JOIN ({list_rows}) l ON {same_key}
    LEFT JOIN {main} m ON m.{key} = coalesce(d.{key}, l.{key}) AND (d.seq IS NULL OR l.seq IS NULL)
    LEFT JOIN {extra} x ON x.id = coalesce(d.{key}, l.{key}))

-- name: record_extra
coalesce(x.extra, d.extra, l.extra, m.extra) AS {column}

-- name: record_text
coalesce(nullif(d.{column}, ''), nullif(l.{column}, ''), m.{column}, l.{column}, d.{column}) AS {column}

-- name: united_value
coalesce(d.{column}, l.{column}, m.{column}) AS {column}

-- name: unite_items
-- The items of the details and, for records without a detail tonight, the items of the list.
-- The rows of a record share its seq. An item of the list that does not contradict its
-- stored row keeps that row, which may have more values.
CREATE TABLE {desired} AS SELECT *, {fingerprint} AS row_hash FROM (
    SELECT {cells}, coalesce(d.seq, l.seq) AS seq
    FROM {detail} d FULL JOIN (
        SELECT * FROM {list} WHERE seq IN (SELECT r.seq FROM ({list_rows}) r ANTI JOIN {detail_records} f USING ({record_key}))) l ON FALSE
    LEFT JOIN {main} m ON d.seq IS NULL AND {agrees})

-- name: item_text
coalesce(d.{column}, nullif(l.{column}, ''), m.{column}, l.{column}) AS {column}

-- name: cell_agrees
(nullif(l.{column}::VARCHAR, '') IS NULL OR l.{column}::VARCHAR = m.{column}::VARCHAR)

-- name: fingerprint
-- Over the texts of a joined row, because the hashes of its halves do not add up. Columns
-- that are NULL are left out, so that a new column changes no fingerprint.
md5_number_lower(concat_ws(chr(31), {parts}))

-- name: fingerprint_part
{label} || {column}::VARCHAR

-- name: fingerprint_of_instant
-- In microseconds, whatever the time zone of the session.
{label} || epoch_us({column})::VARCHAR

-- name: desired_view
-- Without a detail stream no row is copied.
CREATE VIEW {desired} AS {rows}

-- name: desired_rows
SELECT {columns}, row_hash, seq FROM {staged}
