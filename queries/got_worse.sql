-- subject: placements
-- title: Listings that got worse
-- grain: one row per listing and trait that got worse, the latest change first
-- about: Listings on sale with a worse trait than at the start of the day "since": links no longer do-follow, outlet no longer indexed, lower domain authority or longer delivery. A listing that is newer than "since" is compared with its first version. Only the earlier and the current state are compared. A trait that is unknown in one of these states is left out. changed_at is the snapshot in which the trait last changed. The column change is empty if the difference is too large for it.
-- also: lost, do follow, authority, dropped, slower, decline, deindexed, quality
-- columns: first listing_name trait old_value new_value outlet_name changed_at
-- param: since DATE? snapshot-30d -- the earlier state is at the start of this day; NULL means the first snapshot
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: trait do_follow|indexed|authority|delivery_days NULL -- only this trait
-- param: min_points COUNT 1 -- leave out smaller losses of authority
-- param: min_days COUNT 1 -- leave out smaller increases of the delivery time
-- param: country VARCHAR NULL -- only outlets of this country
-- values: SELECT DISTINCT country FROM product_listings
-- param: top COUNT NULL -- maximum number of rows
WITH versions AS (
    SELECT
        id, is_do_follow, is_indexed, domain_authority, max_delivery_days, valid_from,
        is_do_follow IS DISTINCT FROM lag(is_do_follow) OVER by_listing           AS follow_changed,
        is_indexed IS DISTINCT FROM lag(is_indexed) OVER by_listing               AS indexed_changed,
        domain_authority IS DISTINCT FROM lag(domain_authority) OVER by_listing   AS authority_changed,
        max_delivery_days IS DISTINCT FROM lag(max_delivery_days) OVER by_listing AS days_changed
    FROM history.product_listings
    -- The row version at the start of the day $since, and all later versions.
    WHERE $since IS NULL OR coalesce(valid_to, TIMESTAMPTZ 'infinity') > CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR)
    WINDOW by_listing AS (PARTITION BY id ORDER BY valid_from)
),
first_states_and_changes AS (
    SELECT
        v.id,
        arg_min({'follow': v.is_do_follow, 'indexed': v.is_indexed, 'authority': v.domain_authority, 'days': v.max_delivery_days}, v.valid_from) AS before,
        max(v.valid_from) FILTER (follow_changed)    AS follow_at,
        max(v.valid_from) FILTER (indexed_changed)   AS indexed_at,
        max(v.valid_from) FILTER (authority_changed) AS authority_at,
        max(v.valid_from) FILTER (days_changed)      AS days_at
    FROM versions AS v
    GROUP BY v.id
),
states AS (
    SELECT f.*, l.* EXCLUDE (id)
    FROM first_states_and_changes AS f
    JOIN product_listings AS l USING (id)
    WHERE $country IS NULL OR l.country = $country
),
worse_traits AS (
    SELECT id, 'do_follow' AS trait, NULL AS old_value, NULL AS new_value, follow_at AS changed_at
    FROM states WHERE before.follow AND NOT is_do_follow
    UNION ALL
    SELECT id, 'indexed', NULL, NULL, indexed_at
    FROM states WHERE before.indexed AND NOT is_indexed
    UNION ALL
    SELECT id, 'authority', before.authority, domain_authority, authority_at
    FROM states WHERE CAST(before.authority AS HUGEINT) - domain_authority >= greatest(1, $min_points)
    UNION ALL
    SELECT id, 'delivery_days', before.days, max_delivery_days, days_at
    FROM states WHERE CAST(max_delivery_days AS HUGEINT) - before.days >= greatest(1, $min_days)
)
SELECT
    w.id   AS listing_id,
    s.name AS listing_name,
    coalesce(s.outlet_name, n.outlet_name) AS outlet_name,
    s.country,
    w.trait,
    CAST(w.old_value AS BIGINT)               AS old_value,
    CAST(w.new_value AS BIGINT)               AS new_value,
    TRY_CAST(CAST(w.new_value AS HUGEINT) - w.old_value AS BIGINT) AS change,
    w.changed_at
FROM worse_traits AS w
JOIN states AS s USING (id)
LEFT JOIN mart.outlet_names AS n ON n.outlet_id = s.outlet_id
WHERE $trait IS NULL OR w.trait = $trait
ORDER BY w.changed_at DESC, w.id, w.trait
LIMIT $top
