-- The rows that main shall have. A list and a stream of details that fill the same tables
-- are united: d is the detail, l the row of the list, m what main has from an earlier
-- night, x the united unknown fields. What one leaves empty, the other fills.

-- name: list_rows
-- The rows of a list without those whose detail stays as it is: these are united in main
-- already, and would lose by the row of the list alone.
SELECT * FROM {list} WHERE {param} NOT IN {kept}

-- name: kept_details
-- Details whose rows in main stay: carried by the plan, asked for in vain, or left for a
-- later night. Of the last, a record that the list shows as new or changed takes what its
-- row in the list says.
(SELECT {param} FROM {main} WHERE {param} IN (
    SELECT id FROM {plan} WHERE why = 'carried' OR unread AND stays
    UNION ALL SELECT id FROM {asked} WHERE outcome = 'missed'))

-- name: extras_to_unite
-- Records of which two sources have unknown fields, and not the same; the first one wins.
SELECT o.{key}, u.extra::VARCHAR, o.extra FROM {detail} o JOIN ({list_rows}) u USING ({key}) WHERE o.extra <> u.extra::VARCHAR
UNION ALL SELECT o.{key}, u.extra::VARCHAR, o.extra FROM ({list_rows}) o JOIN {main} u USING ({key}) ANTI JOIN {detail} w USING ({key}) WHERE o.extra <> u.extra::VARCHAR
UNION ALL SELECT o.{key}, u.extra::VARCHAR, o.extra FROM {detail} o JOIN {main} u USING ({key}) ANTI JOIN ({list_rows}) w USING ({key}) WHERE o.extra <> u.extra::VARCHAR

-- name: unite_records
-- What main has counts where only one half could be read tonight.
CREATE TABLE {fresh} AS SELECT *, {fingerprint} AS row_hash FROM (
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
-- The items of the details and, of records whose detail could not be read, those of the
-- list. All rows of a record share its seq, which leads from an item to its record. An
-- item of the list that contradicts its row in main in nothing keeps that row, which may
-- know more.
CREATE TABLE {fresh} AS SELECT *, {fingerprint} AS row_hash FROM (
    SELECT {cells}, coalesce(d.seq, l.seq) AS seq
    FROM {detail} d FULL JOIN (
        SELECT * FROM {list} WHERE seq IN (SELECT r.seq FROM ({list_rows}) r ANTI JOIN {detail_records} f USING ({record_key}))) l ON FALSE
    LEFT JOIN {main} m ON d.seq IS NULL AND {agrees})

-- name: item_text
coalesce(d.{column}, nullif(l.{column}, ''), m.{column}, l.{column}) AS {column}

-- name: cell_agrees
(nullif(l.{column}::VARCHAR, '') IS NULL OR l.{column}::VARCHAR = m.{column}::VARCHAR)

-- name: fingerprint
-- Of the texts of a united row, since the hashes of two halves do not add up to that of
-- the whole. NULL leaves its column out, so that a new column changes no row.
md5_number_lower(concat_ws(chr(31), {parts}))

-- name: fingerprint_part
{label} || {column}::VARCHAR

-- name: fingerprint_of_instant
-- In microseconds, whatever the time zone of the session.
{label} || epoch_us({column})::VARCHAR

-- name: fresh_view
-- Where nothing is united, nothing is copied.
CREATE VIEW {fresh} AS {rows}

-- name: fresh_rows
SELECT {columns}, row_hash, seq FROM {staged}
