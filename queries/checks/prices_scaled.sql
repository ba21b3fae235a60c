-- subject: prices
-- severity: hold
-- title: Many amounts changed by the same factor
-- grain: one row per column and currency
-- about: Too many values of a column with amounts (prices, sales, costs, commissions, budgets) changed by the same factor since the previous snapshot: at least "min_prices" and more than "share" of the amounts of one currency (or of all, if the table has no currencies), or at least "min_small" and more than "share_small" of all compared amounts. Reason: the amounts may be in cents instead of units, zero, per hundred, or in another currency under the old name. Factors that differ by up to about 3 % from a middle factor count as the same, because prices are rounded. Factors near 1 are ignored, because a general price rise has such a factor. Prices whose currency or tier changed too are not compared. The column currency is NULL if the whole column is counted. Not detected: factors that differ from amount to amount.
-- each: column DECIMAL(18,6)
-- param: share DECIMAL 0.3 -- allowed share of the amounts of a currency with the same factor
-- param: low DECIMAL 0.8 -- smallest allowed factor
-- param: high DECIMAL 1.25 -- largest allowed factor
-- param: min_prices COUNT 50 -- leave out factors of fewer amounts of a currency
-- param: share_small DECIMAL 0.8 -- allowed share of all amounts with the same factor
-- param: min_small COUNT 5 -- leave out factors of fewer amounts of all currencies
-- param: snapshot TIMESTAMPTZ NULL -- time of the snapshot; set by the program
WITH factors AS (
    SELECT n.currency, n.amount / p.amount AS factor
    FROM (SELECT {key}, {currency} AS currency, [{labels}] AS labels, CAST({column} AS DOUBLE) AS amount FROM {table} WHERE valid_from = $snapshot) AS n
    JOIN (SELECT {key}, [{labels}] AS labels, CAST({column} AS DOUBLE) AS amount FROM past.{table} WHERE valid_to = $snapshot AND {column} <> 0) AS p USING ({key})
    WHERE upper(CAST(n.labels AS VARCHAR)) = upper(CAST(p.labels AS VARCHAR)) -- earlier releases stored currencies in lower case as sent
),
-- Factors are rounded to steps of 2 %. A group is a step with its two neighbours, about 3 % to each
-- side. Factors of zero and below have a step of their own, -100000, far from all others. is_whole is 1 in the
-- rows of the whole column, and 0 in the rows of one currency.
steps AS (
    SELECT currency, grouping(currency) AS is_whole, CASE WHEN factor > 0 THEN CAST(round(50 * ln(factor)) AS INTEGER) ELSE -100000 END AS step, count(*) AS prices, median(factor) AS factor
    FROM factors
    WHERE factor < CAST($low AS DOUBLE) OR factor > CAST($high AS DOUBLE)
    GROUP BY GROUPING SETS ((currency, step), step)
),
step_groups AS (
    SELECT *, CAST(sum(prices) OVER (PARTITION BY is_whole, currency ORDER BY step RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS BIGINT) AS prices_changed FROM steps
),
counts_before AS (
    SELECT CASE WHEN length({currency}) = 3 THEN upper({currency}) ELSE {currency} END AS currency, grouping(currency) AS is_whole, count(*) AS prices_before FROM before.{table} WHERE {column} <> 0 GROUP BY ROLLUP (currency)
),
unchanged AS (SELECT count(*) AS prices FROM {table} WHERE valid_from < $snapshot AND {column} <> 0),
scaled AS (
    SELECT n.is_whole, n.currency, round(factor, 4) AS factor, prices_changed, prices_before
    FROM step_groups AS n JOIN counts_before AS e ON (n.is_whole, n.currency) IS NOT DISTINCT FROM (e.is_whole, e.currency)
    WHERE (n.is_whole = 0 AND prices_changed >= $min_prices AND prices_changed > prices_before * CAST($share AS DOUBLE))
       OR (n.is_whole = 1 AND prices_changed >= $min_small
         AND prices_changed > (SELECT count(*) + any_value(unchanged.prices) FROM factors, unchanged) * CAST($share_small AS DOUBLE))
    QUALIFY row_number() OVER (PARTITION BY n.is_whole, n.currency ORDER BY prices_changed DESC, prices DESC, step) = 1
)
-- The whole column is shown only if no currency is.
SELECT {name} AS table_name, {column_name} AS column_name, currency, factor, prices_changed, prices_before
FROM scaled
WHERE is_whole = (SELECT min(is_whole) FROM scaled)
ORDER BY ALL
