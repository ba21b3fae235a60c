-- Bought before and no longer on sale
WITH params AS (
    SELECT
        CAST(NULL AS {{text}}) AS profile,
        CAST(NULL AS DATE) AS since,
        CAST(NULL AS DATE) AS until,
        CAST('UTC' AS {{text}}) AS timezone,
        CAST(NULL AS BIGINT) AS top
),
items AS (
    SELECT
        s.*,
        coalesce(s.paid_at, {{utc "0001-01-01"}})               AS bought_at,
        CAST(s.sale_price AS DOUBLE) / s.quantity AS unit_price,
        params.top
    FROM ${mart}.sold_items AS s
    CROSS JOIN params
    LEFT JOIN ${current}.product_listings AS l ON l.id = s.product_id
    WHERE NOT s.is_refunded AND s.product_id IS NOT NULL AND l.id IS NULL
      AND (params.profile IS NULL OR params.profile = s.profile_id OR params.profile = s.profile_name)
      AND (params.since IS NULL
        OR s.paid_at >= {{midnight "params.since" "params.timezone"}})
      AND (params.until IS NULL
        OR s.paid_at < {{midnight "params.until" "params.timezone"}})
),
bought_products AS (
    SELECT
        product_id,
        top,
        max_by(product_name, {{tuple}}(bought_at, product_name)) FILTER (WHERE product_name IS NOT NULL) AS product_name,
        max_by(outlet_id, {{tuple}}(bought_at, outlet_id)) FILTER (WHERE outlet_id IS NOT NULL)          AS outlet_id,
        max_by(outlet_name, {{tuple}}(bought_at, outlet_name)) FILTER (WHERE outlet_name IS NOT NULL)    AS outlet_name,
        count(*)                     AS items,
        coalesce(sum(sale_price), 0) AS sales,
        max(paid_at)                 AS last_paid_at,
        max_by(unit_price, {{tuple}}(bought_at, order_item_id)) FILTER (WHERE unit_price IS NOT NULL)    AS last_paid
    FROM items
    GROUP BY product_id, top
),
withdrawals AS (
    SELECT id, max(valid_to) AS withdrawn_at FROM ${past}.product_listings GROUP BY id
),
listing_counts AS (
    SELECT outlet_id, count(*) AS listings FROM ${current}.product_listings GROUP BY outlet_id
),
ranked_products AS (
    SELECT *, row_number() OVER (ORDER BY last_paid_at DESC NULLS LAST, product_id) AS rank
    FROM bought_products
)
SELECT
    b.product_id,
    b.product_name,
    b.outlet_name,
    b.items,
    CAST(b.sales AS DECIMAL(18, 2))                              AS sale_total,
    b.last_paid_at,
    CAST(round(b.last_paid * 100) / 100 AS DECIMAL(18, 2))       AS last_paid,
    w.withdrawn_at,
    coalesce(l.listings, 0)                                      AS outlet_listings
FROM ranked_products AS b
LEFT JOIN withdrawals AS w ON w.id = b.product_id
LEFT JOIN listing_counts AS l ON l.outlet_id = b.outlet_id
WHERE b.top IS NULL OR b.rank <= b.top
ORDER BY b.rank
