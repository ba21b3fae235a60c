-- The history view and the macros of a table, and the macro of all changes. A night recreates
-- them if SchemaVersion has changed. Readers may use DuckDB 1.1, so the SQL has no lambdas, and
-- no cast that needs an extension other than json.

-- name: history_view
-- Current and closed versions of the rows of a table. valid_to is NULL for current rows.
CREATE OR REPLACE VIEW history.{table} AS
    SELECT {columns}, valid_from, NULL::TIMESTAMPTZ AS valid_to FROM main.{table}
    UNION ALL
    SELECT {columns}, valid_from, valid_to FROM past.{table};

-- name: as_of_macro
-- The rows of a table as they were at the given time.
CREATE OR REPLACE MACRO {macro}(at_time) AS TABLE
    SELECT * FROM history.{table}
    WHERE valid_from <= at_time::TIMESTAMPTZ AND (valid_to IS NULL OR valid_to > at_time::TIMESTAMPTZ);

-- name: changes_macro
-- The differences of a table between two times. The macro reads only the row versions that were
-- valid at exactly one of the two times. "$earlier" marks the versions that were valid at from_time.
-- Columns of the result: key (key columns joined by a slash), kind (new, gone or changed), field,
-- old and new. A changed record has one row for each changed field. A new or gone record has one
-- row with the whole record. Values are JSON, and decimals keep all digits. System columns are not
-- compared.
-- {version_columns} are row_hash, row_key and every column as JSON text under the names c0, c1, ...
-- {record} joins these columns to one object. {fields} are the compared columns with the values of both
-- versions. {same_key} compares the keys. In "changes", a is the version at from_time and b the version
-- at to_time. A catalog stores every expression of a macro. Therefore {version_columns} and {record} are
-- used only once; a second use would make an empty catalog 5 percent larger. {record} reads columns of "texts",
-- because DuckDB would bind each expression of {version_columns} again in the same SELECT.
CREATE OR REPLACE MACRO {macro}(from_time, to_time) AS TABLE
    WITH boundary_rows AS (
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
    texts AS (SELECT "$earlier", {version_columns} FROM boundary_rows),
    versions AS (SELECT *, {record} AS record FROM texts){unmoved},
    changes AS (
        SELECT coalesce(a.row_key, b.row_key) AS "key",
            CASE WHEN a.row_hash IS NULL THEN 'new' WHEN b.row_hash IS NULL THEN 'gone' ELSE 'changed' END AS kind,
            unnest(CASE WHEN a.row_hash IS NULL OR b.row_hash IS NULL THEN [{'field': NULL::VARCHAR, 'old': a.record, 'new': b.record}] ELSE [{fields}] END) AS f
        FROM (FROM {compared} WHERE "$earlier") a FULL JOIN (FROM {compared} WHERE NOT "$earlier") b ON {same_key}
        WHERE a.row_hash IS DISTINCT FROM b.row_hash)
    SELECT "key", kind, f.field AS field, f.old::JSON AS "old", f.new::JSON AS "new"
    FROM changes WHERE f.old IS DISTINCT FROM f.new;

-- name: unmoved
-- An item with the same content at another position has a copy at both times. Such copies are left out.
,
    copies AS (SELECT *, row_number() OVER (PARTITION BY "$earlier", {content}) AS "$copy" FROM versions),
    compared AS (FROM copies QUALIFY count(*) OVER (PARTITION BY {content}, "$copy") = 1)

-- name: changes_of_table
SELECT {name} AS table_name, * FROM {macro}(from_time, to_time)

-- name: all_changes_macro
-- The changes of all tables. With a filter on table_name, DuckDB reads only the table of this name.
CREATE OR REPLACE MACRO changes(from_time, to_time) AS TABLE
{selects};
