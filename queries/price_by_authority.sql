-- subject: prices
-- title: Price by domain authority
-- grain: one row per tier, currency and band of ten points
-- about: Prices by domain authority. Quartiles are existing prices. The price per point is a price divided by the domain authority of the listing; its median is rounded to 4 places and leaves out listings whose authority is 0 or unknown. Listings whose authority is unknown or not between 0 and 100 form a band of their own. The tier and currency with the most prices come first.
-- also: DA, domain rating, quality, SEO, cost, median
-- chart: bar x=authority_band y=median_price
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: tier VARCHAR NULL -- only prices of this tier
-- values: SELECT DISTINCT pricing_tier FROM product_listing_prices
WITH bands AS (
    SELECT
        pricing_tier,
        currency,
        authority_band,
        count(*)                                      AS prices,
        quantile_disc(unit_amount, [0.25, 0.5, 0.75]) AS quartiles,
        quantile_disc(unit_amount / nullif(domain_authority, 0), 0.5) FILTER (domain_authority > 0) AS per_point
    FROM mart.listing_prices
    WHERE ($currency IS NULL OR currency = $currency)
      AND ($tier IS NULL OR pricing_tier = $tier)
    GROUP BY ALL
)
SELECT
    pricing_tier,
    currency,
    authority_band,
    prices,
    CAST(quartiles[1] AS DECIMAL(18, 2)) AS p25_price,
    CAST(quartiles[2] AS DECIMAL(18, 2)) AS median_price,
    CAST(quartiles[3] AS DECIMAL(18, 2)) AS p75_price,
    CAST(per_point AS DECIMAL(18, 4))    AS median_price_per_point
FROM bands
ORDER BY sum(prices) OVER (PARTITION BY pricing_tier, currency) DESC, pricing_tier, currency, authority_band
