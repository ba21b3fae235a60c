-- A table on a page: the result of {query}, which the user can search, filter and sort. The column "row of the query"
-- contains the position of a row in the result.

-- name: columns
SELECT * FROM (
{query}
) LIMIT 0;

-- name: page
-- One page of the table, its totals, its choices, and the number of values in each column. The choices are also read
-- from rows that do not match the filters.
WITH result AS MATERIALIZED (
    SELECT {result_columns} FROM (
{query}
)),
matching_rows AS MATERIALIZED (
    SELECT row_number() OVER () AS "row of the query", * FROM result WHERE {conditions}
),
summary AS (
    SELECT (SELECT count(*) FROM matching_rows), {sums}, CAST([{choices}] AS VARCHAR[][]), (SELECT [{counts}] FROM matching_rows)
),
page_rows AS (
    SELECT * FROM matching_rows ORDER BY {order} LIMIT {rows} OFFSET {offset}
)
SELECT summary.*, "row of the query", page_rows.* EXCLUDE ({hidden})
FROM summary LEFT JOIN page_rows ON true
ORDER BY {order};

-- name: download
SELECT * EXCLUDE ({hidden})
FROM (SELECT row_number() OVER () AS "row of the query", * FROM (
{query}
))
WHERE {conditions}
ORDER BY {order};

-- name: sums
(SELECT list({'currency': currency, 'sums': sums} ORDER BY currency) FROM (
    SELECT {currency} AS currency, [{sums}] AS sums FROM matching_rows {grouping}
));

-- name: choices
(SELECT coalesce(list(value ORDER BY value), []) FROM (
    SELECT DISTINCT CAST({column} AS VARCHAR) AS value FROM result WHERE {column} IS NOT NULL LIMIT {most}
));
