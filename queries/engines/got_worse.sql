-- Listings that got worse
WITH params AS (
    SELECT
        {{days_ago "30"}} AS since,
        CAST('UTC' AS {{text}}) AS timezone,
        CAST(NULL AS {{text}}) AS trait,
        CAST(1 AS BIGINT) AS min_points,
        CAST(1 AS BIGINT) AS min_days,
        CAST(NULL AS {{text}}) AS country,
        CAST(NULL AS BIGINT) AS top
),
all_versions AS (
    SELECT id, is_do_follow, is_indexed, domain_authority, max_delivery_days, valid_from, {{utc "9999-12-31"}} AS valid_to FROM ${current}.product_listings
    UNION ALL
    SELECT id, is_do_follow, is_indexed, domain_authority, max_delivery_days, valid_from, valid_to FROM ${past}.product_listings
),
versions AS (
    SELECT
        l.id, l.is_do_follow, l.is_indexed, l.domain_authority, l.max_delivery_days, l.valid_from,
        row_number() OVER by_listing AS version_number,
        l.is_do_follow IS DISTINCT FROM lag(l.is_do_follow) OVER by_listing           AS follow_changed,
        l.is_indexed IS DISTINCT FROM lag(l.is_indexed) OVER by_listing               AS indexed_changed,
        l.domain_authority IS DISTINCT FROM lag(l.domain_authority) OVER by_listing   AS authority_changed,
        l.max_delivery_days IS DISTINCT FROM lag(l.max_delivery_days) OVER by_listing AS days_changed
    FROM all_versions AS l
    CROSS JOIN params
    -- The row version at the start of the day params.since, and all later versions.
    WHERE params.since IS NULL
       OR l.valid_to > {{midnight "params.since" "params.timezone"}}
    WINDOW by_listing AS (PARTITION BY l.id ORDER BY l.valid_from)
),
change_times AS (
    SELECT
        id,
        max(valid_from) FILTER (WHERE follow_changed)    AS follow_at,
        max(valid_from) FILTER (WHERE indexed_changed)   AS indexed_at,
        max(valid_from) FILTER (WHERE authority_changed) AS authority_at,
        max(valid_from) FILTER (WHERE days_changed)      AS days_at
    FROM versions
    GROUP BY id
    HAVING count(*) > 1
),
states AS (
    SELECT
        l.id, l.name, l.outlet_name, l.country,
        b.is_do_follow                             AS old_follow,
        l.is_do_follow                             AS new_follow,
        b.is_indexed                               AS old_indexed,
        l.is_indexed                               AS new_indexed,
        b.domain_authority                         AS old_authority,
        l.domain_authority                         AS new_authority,
        b.max_delivery_days                        AS old_days,
        l.max_delivery_days                        AS new_days,
        t.follow_at, t.indexed_at, t.authority_at, t.days_at,
        greatest(1, params.min_points)             AS min_points,
        greatest(1, params.min_days)               AS min_days
    FROM change_times AS t
    CROSS JOIN params
    JOIN versions AS b ON b.id = t.id AND b.version_number = 1
    JOIN ${current}.product_listings AS l ON l.id = t.id
    WHERE params.country IS NULL OR l.country = params.country
),
worse_traits AS (
    SELECT id, name, outlet_name, country, 'do_follow' AS trait, CAST(NULL AS BIGINT) AS old_value, CAST(NULL AS BIGINT) AS new_value, follow_at AS changed_at
    FROM states WHERE old_follow AND NOT new_follow
    UNION ALL
    SELECT id, name, outlet_name, country, 'indexed', NULL, NULL, indexed_at
    FROM states WHERE old_indexed AND NOT new_indexed
    UNION ALL
    SELECT id, name, outlet_name, country, 'authority', old_authority, new_authority, authority_at
    FROM states WHERE old_authority - new_authority >= min_points
    UNION ALL
    SELECT id, name, outlet_name, country, 'delivery_days', old_days, new_days, days_at
    FROM states WHERE new_days - old_days >= min_days
),
ranked_traits AS (
    SELECT w.*, params.top, row_number() OVER (ORDER BY w.changed_at DESC, w.id, w.trait) AS rank
    FROM worse_traits AS w
    CROSS JOIN params
    WHERE params.trait IS NULL OR w.trait = params.trait
)
SELECT
    id   AS listing_id,
    name AS listing_name,
    outlet_name,
    country,
    trait,
    old_value,
    new_value,
    new_value - old_value AS change,
    changed_at
FROM ranked_traits
WHERE top IS NULL OR rank <= top
ORDER BY rank
