-- subject: quality
-- title: Streams that are not proven
-- grain: one row per stream that was not proven for several nights in a row, the most nights first
-- about: Streams whose grade is best_effort or carried_forward in the newest night that did not skip them. The column nights counts the nights in a row, the column since is the time of the first of them, and the column reason explains the newest grade. The rows of such a stream may be incomplete or old. Refreshes are left out.
-- also: incomplete, missing, unproven, trust, problem
-- chart: bar x=stream y=nights
-- param: nights COUNT 3 -- only streams that are not proven for at least this many nights
WITH stream_grades AS (
    SELECT s.stream, s.grade, s.reason, r.snapshot_at
    FROM meta.streams AS s
    JOIN meta.runs AS r USING (run_id)
    WHERE r.snapshot_at IS NOT NULL AND coalesce(r.kind, 'night') IN ('night', 'replay') AND s.grade <> 'skipped'
),
last_proofs AS (
    SELECT stream, max(snapshot_at) FILTER (grade NOT IN ('best_effort', 'carried_forward')) AS proven_at
    FROM stream_grades
    GROUP BY stream
)
SELECT
    g.stream,
    arg_max(g.grade, g.snapshot_at)  AS grade,
    count(*)                         AS nights,
    min(g.snapshot_at)               AS since,
    p.proven_at,
    arg_max(g.reason, g.snapshot_at) AS reason
FROM stream_grades AS g
JOIN last_proofs AS p USING (stream)
WHERE p.proven_at IS NULL OR g.snapshot_at > p.proven_at
GROUP BY g.stream, p.proven_at
HAVING count(*) >= $nights
ORDER BY nights DESC, g.stream
