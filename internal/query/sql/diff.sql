-- The changes between two snapshots in words: records by their names, items of lists by their content.

-- name: changes_of_table
SELECT {name} AS table_name, {noun} AS noun, {is_item} AS is_item, {owner} AS owner, field IN ({amounts}) AS is_amount,
    "key", kind, field, "old", "new"
FROM {macro}({from_time}, {to_time}) {condition}

-- name: rows_of_table
-- The changed row versions of a table. {key} is the key as text. {owner} in changes_of_table is the table whose row
-- with the id {owner_id} names the record. {label} distinguishes the items of a list. A new item can have
-- the key of an item that is gone.
SELECT {name} AS table_name, {key} AS row_key, {own_name} AS name, {label} AS label, {outlet_id} AS outlet_id, {owner_id} AS owner_id,
    {has_position} AS has_position, valid_from, valid_to
FROM history.{table}
WHERE valid_from <= {to_time} AND (valid_from > {from_time} OR (valid_to > {from_time} AND valid_to <= {to_time}))

-- name: names_of_table
SELECT {name} AS owner, {id} AS id, {column} AS name, {outlet_id} AS outlet_id, valid_from FROM history.{table}

-- name: with_changes_in_words
-- Each changed member of a JSON object is a row. A list of texts or numbers is shown by the items that were removed
-- and added. The path of a member is a JSON pointer. Amounts have two decimals, or all if the change is smaller.
WITH bare_changes AS ({changes}),
-- changed_at is the time of the last change. A record that is gone can have several versions between the two times,
-- and the last of them ended when it went. The versions at one position can belong to several items.
row_versions AS (
    SELECT *, coalesce(valid_to <= {to_time}, false) AS is_gone,
        CASE WHEN NOT is_gone THEN valid_from WHEN has_position THEN valid_to
            ELSE max(valid_to) OVER (PARTITION BY table_name, row_key) END AS changed_at
    FROM ({rows})
),
-- A change has the row at the later time, or the earlier row if it is gone.
changes AS (
    SELECT c.*, h.changed_at, h.name, h.label, h.outlet_id, h.owner_id
    FROM bare_changes AS c LEFT JOIN row_versions AS h ON h.table_name = c.table_name AND h.row_key = c."key" AND h.is_gone = (c.kind = 'gone')
        AND (NOT h.is_gone OR h.valid_from <= {from_time})
),
names AS (
    SELECT owner, id, arg_max(name, valid_from) AS name, arg_max(outlet_id, valid_from) AS outlet_id
    FROM ({names}) GROUP BY owner, id
),
named AS (
    SELECT c.* REPLACE (
            coalesce(c.name, n.name) AS name,
            CASE
                WHEN kind = 'changed' THEN "old"
                WHEN kind = 'new' THEN NULL
                WHEN noun = 'price' THEN "old" -> 'unit_amount'
                ELSE to_json(coalesce("old" ->> 'content', label, CASE WHEN NOT is_item THEN coalesce(c.name, n.name) END))
            END AS "old",
            CASE
                WHEN kind = 'changed' THEN "new"
                WHEN kind = 'gone' THEN NULL
                WHEN noun = 'price' THEN "new" -> 'unit_amount'
                ELSE to_json(coalesce("new" ->> 'content', label, CASE WHEN NOT is_item THEN coalesce(c.name, n.name) END))
            END AS "new",
            coalesce(is_amount, noun = 'price') AS is_amount),
        coalesce(c.outlet_id, n.outlet_id) AS known_outlet_id
    FROM changes AS c LEFT JOIN names AS n ON n.owner = c.owner AND n.id = c.owner_id
),
members AS (
    SELECT *, '/' || replace(replace(member, '~', '~0'), '/', '~1') AS path
    FROM (
        SELECT *, unnest(CASE WHEN 'OBJECT' IN (json_type("old"), json_type("new"))
            THEN list_distinct(list_concat(json_keys("old"), json_keys("new"))) ELSE [NULL] END) AS member
        FROM named)
),
value_changes AS (
    SELECT * REPLACE (
        CASE WHEN member IS NULL THEN "old" ELSE json_extract("old", path) END AS "old",
        CASE WHEN member IS NULL THEN "new" ELSE json_extract("new", path) END AS "new")
    FROM members
),
lists AS (
    SELECT *,
        CASE WHEN json_type("old") = 'ARRAY' AND NOT list_has_any(json_type("old", '$[*]'), ['OBJECT', 'ARRAY']) THEN CAST("old" AS VARCHAR[]) END AS old_items,
        CASE WHEN json_type("new") = 'ARRAY' AND NOT list_has_any(json_type("new", '$[*]'), ['OBJECT', 'ARRAY']) THEN CAST("new" AS VARCHAR[]) END AS new_items
    FROM value_changes
    WHERE kind <> 'changed' OR "old" IS DISTINCT FROM "new"
),
texts AS (
    SELECT *,
        list_transform(["old", "new"], lambda v: CASE json_type(v)
            WHEN 'VARCHAR' THEN v ->> '$'
            WHEN 'BOOLEAN' THEN CASE CAST(v AS VARCHAR) WHEN 'true' THEN 'yes' ELSE 'no' END
            WHEN 'ARRAY' THEN concat(json_array_length(v), CASE json_array_length(v) WHEN 1 THEN ' item' ELSE ' items' END)
            WHEN 'OBJECT' THEN concat(len(json_keys(v)), CASE len(json_keys(v)) WHEN 1 THEN ' member' ELSE ' members' END)
            WHEN 'NULL' THEN NULL
            ELSE CAST(v AS VARCHAR)
        END) AS exact,
        CASE WHEN is_amount AND member IS NULL THEN list_transform(exact, lambda v: CAST(TRY_CAST(v AS DECIMAL(38, 2)) AS VARCHAR)) ELSE exact END AS rounded,
        [array_to_string(list_filter(old_items, lambda x: NOT list_contains(new_items, x)), ', '),
            array_to_string(list_filter(new_items, lambda x: NOT list_contains(old_items, x)), ', ')] AS changed_items,
        CASE
            WHEN concat(changed_items[1], changed_items[2]) <> '' THEN [nullif(changed_items[1], ''), nullif(changed_items[2], '')]
            -- Such as "2 items" and "2 items, changed".
            WHEN exact[1] = exact[2] THEN [exact[1], exact[2] || ', changed']
            WHEN rounded[1] = rounded[2] THEN exact
            ELSE rounded
        END AS shown
    FROM lists
),
worded AS (
    SELECT t.changed_at, o.name AS outlet, t.name, t.kind, t.field,
        CASE
            WHEN kind <> 'changed' THEN concat_ws(' ', noun, CASE WHEN noun = 'price' THEN label END)
            ELSE concat_ws(': ', CASE WHEN label IS NOT NULL THEN concat(noun, ' ', label) END,
                CASE WHEN noun <> 'price' OR field <> 'unit_amount' THEN replace(field, '_', ' ') END, member)
        END AS what,
        shown[1] AS "old", shown[2] AS "new", t.table_name AS "table", t."key"
    FROM texts AS t LEFT JOIN names AS o ON o.owner = 'outlets' AND o.id = t.known_outlet_id
)

-- name: changes_in_words
SELECT changed_at, outlet, name, kind, what, "old", "new", "table", "key"
FROM worded
ORDER BY "table", outlet, name, "key", what, "old", "new"

-- name: changes_of_fields
SELECT {name} AS table_name, * FROM {macro}({from_time}, {to_time}) {condition}

-- name: changes
SELECT table_name AS "table", "key", kind, field, "old", "new" FROM ({changes}) ORDER BY table_name, "key", field

-- name: comparable_tables
-- The tables with a macro that compares two snapshots. {suffix} is the end of the name of such a macro.
SELECT DISTINCT table_name
FROM duckdb_tables() AS t
JOIN duckdb_functions() AS f ON f.function_name = t.table_name || {suffix}
WHERE t.database_name = {database} AND t.schema_name = 'main' AND f.database_name = t.database_name
ORDER BY table_name

-- name: change_counts
SELECT
    table_name AS "table",
    count(*) FILTER (kind = 'new') AS "new",
    count(DISTINCT "key") FILTER (kind = 'changed') AS changed,
    count(*) FILTER (kind = 'gone') AS gone,
    count(field) AS fields
FROM ({changes})
GROUP BY table_name
ORDER BY table_name

-- name: changed_fields
SELECT "table", field, changes, example.outlet, example.name, left(example."old", 200) AS "old", left(example."new", 200) AS "new"
FROM (
    SELECT "table", field, count(*) AS changes,
        arg_min({"outlet": outlet, "name": name, "old": "old", "new": "new"}, ("key", what)) AS example
    FROM worded
    WHERE kind = 'changed'
    GROUP BY ALL
)
ORDER BY changes DESC, "table", field

-- name: is_outlet
SELECT EXISTS (
    SELECT id FROM history.outlets WHERE id = {outlet} UNION ALL
    SELECT outlet_id FROM history.product_listings WHERE outlet_id = {outlet} UNION ALL
    SELECT outlet_id FROM history.outlet_listings WHERE outlet_id = {outlet})
