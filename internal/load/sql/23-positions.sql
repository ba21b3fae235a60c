-- The rows of a child table are numbered by their position. If a list comes in another order, its items keep
-- the positions that they have in main. l is a staged row, and m a stored row.

-- name: find_reordered
-- The lists with a staged row that is not the same item as the stored row at its position.
CREATE OR REPLACE TABLE {reordered} AS SELECT DISTINCT {parents} FROM {staged} l ANTI JOIN {stored} m ON {same_item}

-- name: same_row
{same_key} AND l.row_hash = m.row_hash

-- name: find_known
-- The stored items of these lists, and the last version at each position that was used before. The position
-- of an item that is gone belongs to it, in case it comes back.
CREATE OR REPLACE TABLE {positions} (row_id BIGINT, position BIGINT, row_hash UBIGINT);
CREATE OR REPLACE TABLE {known} AS
SELECT {parents}, position, {item_hash} AS item_hash, {first_key} AS first_key, {second_key} AS second_key, FALSE AS is_past
FROM {stored} m SEMI JOIN {reordered} USING ({parents})
UNION ALL (
    SELECT {parents}, position, {item_hash}, {first_key}, {second_key}, TRUE FROM {past} m SEMI JOIN {reordered} USING ({parents})
    QUALIFY row_number() OVER (PARTITION BY {parents}, position ORDER BY valid_to DESC) = 1)

-- name: read_items
-- The staged and the known items, list by list. A list without known items keeps its positions.
SELECT to_json([{parent_texts}])::VARCHAR, is_known, is_past, row_id, position, row_hash, item_hash, first_key, second_key FROM (
    SELECT {parents}, FALSE AS is_known, FALSE AS is_past, l.rowid AS row_id, position, row_hash, {item_hash} AS item_hash,
        {first_key} AS first_key, {second_key} AS second_key
    FROM {staged} l SEMI JOIN {known} USING ({parents})
    UNION ALL SELECT {parents}, TRUE, is_past, 0, position, 0::UBIGINT, item_hash, first_key, second_key FROM {known})
ORDER BY {parents}, is_known, is_past, position

-- name: item_key
-- NULL if the item has no value in any of the columns.
CASE WHEN {has_value} THEN hash({columns}) END

-- name: no_key
NULL::UBIGINT

-- name: has_value
{column} IS NOT NULL

-- name: item_hash
hash({values})

-- name: value_text
{column}::VARCHAR

-- name: set_inner_positions
-- The rows inside the items name the position of their item.
UPDATE {inner} AS i SET {column} = p.position FROM {positions} p JOIN {staged} l ON l.rowid = p.row_id WHERE {same_item}

-- name: set_positions
UPDATE {staged} AS l SET position = p.position, row_hash = p.row_hash FROM {positions} p WHERE l.rowid = p.row_id
