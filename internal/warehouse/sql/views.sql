-- The view and the macros of the history of a table, and the macro of all changes. They
-- are made anew when a schema file changes. Any reader may call them, so they keep to
-- what DuckDB 1.1 knows: no lambdas, and no conversion that needs an extension.

-- name: history_view
-- Current and closed versions of the rows of a table. valid_to is NULL for current ones.
CREATE OR REPLACE VIEW history.{table} AS
    SELECT {columns}, valid_from, NULL::TIMESTAMPTZ AS valid_to FROM main.{table}
    UNION ALL
    SELECT {columns}, valid_from, valid_to FROM past.{table};

-- name: as_of_macro
-- The rows of a table as they were at a time.
CREATE OR REPLACE MACRO {macro}(at_time) AS TABLE
    SELECT * FROM history.{table}
    WHERE valid_from <= at_time::TIMESTAMPTZ AND (valid_to IS NULL OR valid_to > at_time::TIMESTAMPTZ);

-- name: changes_macro
-- What differs in a table between two times. Only versions that began or ended between
-- the two are read. Its rows are key (columns joined by a slash), kind (new, gone or
-- changed), field, old and new. A changed record has a row for each field; a new or
-- vanished one has a single row with the whole record. Values are JSON with all digits.
-- System columns and untracked columns are no fields. {version} selects a version of a
-- record as row_hash, row_key and c0, c1, ... with every column as JSON text, {record} makes
-- one text of these. Both stand here once: a catalog stores each expression of a macro, and
-- with copies of these it would be a twentieth larger.
CREATE OR REPLACE MACRO {macro}(from_time, to_time) AS TABLE
    WITH chosen AS (
        SELECT *, true AS "$earlier" FROM past.{table}
        WHERE valid_from <= from_time::TIMESTAMPTZ
            AND valid_to > from_time::TIMESTAMPTZ AND valid_to <= to_time::TIMESTAMPTZ
        UNION ALL BY NAME
        SELECT *, false AS "$earlier" FROM main.{table}
        WHERE valid_from > from_time::TIMESTAMPTZ AND valid_from <= to_time::TIMESTAMPTZ
        UNION ALL BY NAME
        SELECT *, false AS "$earlier" FROM past.{table}
        WHERE valid_from > from_time::TIMESTAMPTZ AND valid_from <= to_time::TIMESTAMPTZ
            AND valid_to > to_time::TIMESTAMPTZ),
    versions AS (SELECT "$earlier", {version}, {record} AS record FROM chosen),
    paired AS (
        SELECT coalesce(a.row_key, b.row_key) AS "key",
            CASE WHEN a.row_hash IS NULL THEN 'new' WHEN b.row_hash IS NULL THEN 'gone' ELSE 'changed' END AS kind,
            unnest(CASE WHEN a.row_hash IS NULL OR b.row_hash IS NULL THEN [{'field': NULL::VARCHAR, 'old': a.record, 'new': b.record}] ELSE [{fields}] END) AS f
        FROM (FROM versions WHERE "$earlier") a FULL JOIN (FROM versions WHERE NOT "$earlier") b ON {same_key}
        WHERE a.row_hash IS DISTINCT FROM b.row_hash)
    SELECT "key", kind, f.field AS field, f.old::JSON AS "old", f.new::JSON AS "new"
    FROM paired WHERE f.old IS DISTINCT FROM f.new;

-- name: changes_of_table
SELECT {name} AS table_name, * FROM {macro}(from_time, to_time)

-- name: all_changes_macro
-- The changes of all tables. A filter on table_name leaves the other tables unread.
CREATE OR REPLACE MACRO changes(from_time, to_time) AS TABLE
{tables};
