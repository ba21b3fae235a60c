-- subject: quality
-- severity: warn
-- title: An unknown field may belong to an empty column
-- grain: one row per table
-- about: A column has no value in any row, and most rows have an unknown field with a similar name. Reason: the service may send the field under a name that the program does not know. The values are in the column extra. The column set_in_configuration is the line that makes the program read the field into the column. Names are similar if they have half of the words of the column in common. Not detected: other names, and columns that have values from earlier nights.
-- each: unknown_field
-- param: share DECIMAL 0.5 -- smallest share of the rows that have the unknown field
-- param: min_rows COUNT 5 -- leave out tables with fewer rows
-- param: private VARCHAR ',' -- private columns as table.column, each between commas; set by the program
-- param: run VARCHAR NULL -- run of the snapshot; set by the program
WITH known_fields AS (
    SELECT * EXCLUDE (extra, valid_from, row_hash) FROM {table}
),
-- One row with the number of values of each column. COLUMNS repeats an expression for each column, and "\1" keeps the
-- name of the column.
value_counts AS (
    SELECT count(COLUMNS('(.*)')) AS "\1" FROM known_fields HAVING count(*) >= $min_rows
),
-- One row for each column.
counted_columns AS (
    UNPIVOT value_counts ON COLUMNS(*) INTO NAME column_name VALUE value_count
),
empty_columns AS (
    SELECT column_name, string_split(column_name, '_') AS column_words
    FROM counted_columns
    WHERE value_count = 0 AND NOT contains($private, ',' || {name} || '.' || column_name || ',')
),
-- field_name is the path in snake_case.
unknown_fields AS (
    SELECT path, regexp_replace(lower(regexp_replace(path, '([a-z0-9])([A-Z])', '\1_\2', 'g')), '[^a-z0-9]+', '_', 'g') AS field_name, string_split(field_name, '_') AS field_words
    FROM meta.drift
    WHERE table_name = {name} AND kind = 'unknown_field' AND last_run = $run
),
name_pairs AS (
    SELECT
        path, column_name,
        list_intersect(column_words, field_words)                              AS common_words,
        len(common_words) / len(list_distinct(list_concat(column_words, field_words))) AS similarity,
        (column_words[-1] = 'id') = (field_words[-1] = 'id')                   AS agree_on_id,
        replace(column_name, '_', '') = replace(field_name, '_', '')           AS differ_only_in_form,
        2 * len(common_words) >= len(column_words)                             AS have_half_in_common,
        len(list_filter(common_words, lambda w: w NOT IN ('id', 'url', 'name', 'date', 'at', 'is', 'type'))) > 0 AS have_rare_word_in_common
    FROM empty_columns, unknown_fields
),
-- The pairs in which the field is the most similar one of the column, and the column the most similar one of the field.
similar_names AS (
    SELECT path, column_name
    FROM name_pairs
    WHERE agree_on_id AND (differ_only_in_form OR (have_half_in_common AND have_rare_word_in_common))
    QUALIFY row_number() OVER (PARTITION BY column_name ORDER BY similarity DESC, path) = 1
        AND row_number() OVER (PARTITION BY path ORDER BY similarity DESC, column_name) = 1
),
renamed AS (
    SELECT column_name, path, count(*) AS rows_with_field
    FROM similar_names JOIN {table} ON json_exists(extra, '$."' || replace(path, '.', '"."') || '"')
    GROUP BY ALL
    HAVING rows_with_field > (SELECT count(*) FROM {table}) * CAST($share AS DOUBLE)
)
SELECT {name} AS table_name, max(rows_with_field) AS rows_with_field,
    'api.fields: {' || string_agg({name} || '.' || column_name || ': ' || path, ', ' ORDER BY column_name) || '}' AS set_in_configuration
FROM renamed
HAVING count(*) > 0
