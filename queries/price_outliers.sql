-- subject: prices
-- title: Over- and underpriced listings
-- grain: one row per listing, tier and currency with an outlying price, the farthest first
-- about: Prices compared with the median of the other listings of the same country, channel type, placement type, authority band, tier and currency. If a listing has several prices of a tier and currency, the lowest counts. If two prices are in the middle, the median is the lower one. The largest differences come first, by ratio: half of the median is as far away as twice the median. Prices of 0 or less, and listings of unknown country, channel type, placement type or authority, are left out.
-- also: expensive, cheap, unusual, overpriced, underpriced, bargain, anomaly, suspicious
-- columns: first listing_name side price median_price difference_percent currency outlet_name
-- param: side over|under NULL -- only overpriced or only underpriced listings
-- param: min_percent DECIMAL 25 -- leave out smaller differences, in percent of the median
-- param: min_peers COUNT 5 -- minimum number of other listings to compare with
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: tier VARCHAR NULL -- only prices of this tier
-- values: SELECT DISTINCT pricing_tier FROM product_listing_prices
-- param: country VARCHAR NULL -- only outlets of this country
-- values: SELECT DISTINCT country FROM product_listings
-- param: top COUNT? 100 -- maximum number of rows
WITH prices AS (
    SELECT listing_id, country, channel_type, placement_type, authority_band, pricing_tier, currency, min(unit_amount) AS amount
    FROM mart.listing_prices
    WHERE unit_amount > 0
      AND ($currency IS NULL OR currency = $currency)
      AND ($tier IS NULL OR pricing_tier = $tier)
      AND ($country IS NULL OR country = $country)
    GROUP BY ALL
),
ranked_prices AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY country, channel_type, placement_type, authority_band, pricing_tier, currency ORDER BY amount, listing_id) AS rank
    FROM prices
),
segments AS (
    SELECT country, channel_type, placement_type, authority_band, pricing_tier, currency, count(*) AS listing_count, list(amount ORDER BY rank) AS amounts
    FROM ranked_prices
    GROUP BY ALL
    HAVING listing_count > greatest(1, $min_peers)
),
-- The sorted prices contain the price of the listing itself. The median of the others is at the rank
-- listing_count // 2, or at the next rank if the listing is at or before that rank. Of two middle
-- prices, the median is the lower.
comparisons AS (
    SELECT
        p.*,
        s.listing_count - 1                AS peers,
        s.amounts[s.listing_count // 2 + CASE WHEN p.rank <= s.listing_count // 2 THEN 1 ELSE 0 END] AS median,
        100 * (CAST(p.amount AS DECIMAL(38, 6)) - median) / median AS percent
    FROM ranked_prices AS p
    JOIN segments AS s ON s.country = p.country AND s.channel_type = p.channel_type AND s.placement_type = p.placement_type
        AND s.authority_band = p.authority_band AND s.pricing_tier IS NOT DISTINCT FROM p.pricing_tier AND s.currency IS NOT DISTINCT FROM p.currency
),
outliers AS (
    SELECT *, greatest(amount / median, median / amount) AS distance
    FROM comparisons
    WHERE abs(percent) >= CAST($min_percent AS DECIMAL(18, 6)) AND percent <> 0
      AND ($side IS NULL OR (percent > 0) = ($side = 'over'))
    ORDER BY distance DESC, listing_id, pricing_tier, currency
    LIMIT $top
)
SELECT
    o.listing_id,
    l.name AS listing_name,
    coalesce(l.outlet_name, n.outlet_name) AS outlet_name,
    o.country,
    o.channel_type,
    o.placement_type,
    o.authority_band,
    o.pricing_tier,
    o.currency,
    CASE WHEN o.percent > 0 THEN 'over' ELSE 'under' END AS side,
    CAST(o.amount AS DECIMAL(18, 2))  AS price,
    CAST(o.median AS DECIMAL(18, 2))  AS median_price,
    CAST(o.percent AS DECIMAL(38, 1)) AS difference_percent,
    o.peers
FROM outliers AS o
JOIN product_listings AS l ON l.id = o.listing_id
LEFT JOIN mart.outlet_names AS n ON n.outlet_id = l.outlet_id
ORDER BY o.distance DESC, o.listing_id, o.pricing_tier, o.currency
