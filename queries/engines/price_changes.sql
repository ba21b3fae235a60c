-- Price changes
WITH params AS (
    SELECT
        {{days_ago "7"}} AS since,
        CAST(NULL AS DATE) AS until,
        CAST('UTC' AS {{text}}) AS timezone,
        CAST(NULL AS {{text}}) AS direction,
        CAST(NULL AS {{text}}) AS currency,
        CAST(NULL AS {{text}}) AS tier,
        CAST(0 AS DECIMAL(18, 6)) AS min_percent,
        CAST(NULL AS BIGINT) AS top
),
changes AS (
    SELECT
        c.*,
        CAST(100 * (c.new_amount - c.old_amount) AS DOUBLE) / CAST(nullif(c.old_amount, 0) AS DOUBLE) AS percent,
        CAST(params.min_percent AS DOUBLE) AS min_percent,
        params.top
    FROM ${mart}.price_changes AS c
    CROSS JOIN params
    WHERE (params.since IS NULL
        OR c.changed_at >= {{midnight "params.since" "params.timezone"}})
      AND (params.until IS NULL
        OR c.changed_at < {{midnight "params.until" "params.timezone"}})
      AND (params.direction IS NULL OR (c.new_amount > c.old_amount) = (params.direction = 'rise'))
      AND (params.currency IS NULL OR c.currency = params.currency)
      AND (params.tier IS NULL OR c.pricing_tier = params.tier)
),
shown_changes AS (
    SELECT
        *,
        row_number() OVER (ORDER BY changed_at DESC, abs(percent) DESC NULLS FIRST, listing_id, pricing_tier NULLS LAST,
            currency NULLS LAST, old_amount, new_amount) AS rank
    FROM changes
    WHERE percent IS NULL OR abs(percent) >= min_percent
),
-- Names are from the time of the change.
versions AS (
    SELECT id, name, outlet_name, country, valid_from, {{utc "9999-12-31"}} AS valid_to FROM ${current}.product_listings
    UNION ALL
    SELECT id, name, outlet_name, country, valid_from, valid_to FROM ${past}.product_listings
)
SELECT
    c.changed_at,
    c.listing_id,
    l.name AS listing_name,
    l.outlet_name,
    l.country,
    c.pricing_tier,
    c.currency,
    CAST(c.old_amount AS DECIMAL(18, 2))                        AS old_price,
    CAST(c.new_amount AS DECIMAL(18, 2))                        AS new_price,
    CAST(c.new_amount - c.old_amount AS DECIMAL(18, 2))         AS change,
    CAST(round(c.percent * 10) / 10 AS DECIMAL(38, 1)) AS change_percent
FROM shown_changes AS c
LEFT JOIN versions AS l ON l.id = c.listing_id AND l.valid_from <= c.changed_at AND l.valid_to > c.changed_at
WHERE c.top IS NULL OR c.rank <= c.top
ORDER BY c.rank
