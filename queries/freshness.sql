-- subject: quality
-- title: Freshness
-- grain: one row per stream of the newest snapshot, the stalest first
-- about: Hours since each stream was last read from the service (grade exact, repaired, bounded or best_effort) and since it was last proven complete, relative to the newest snapshot. With the grade exact or repaired, the stream is proven complete at the time of the snapshot; with the grade bounded, at the time of its oldest read. runs_behind counts the snapshots published since the last read. A time, and the numbers that depend on it, are empty if the stream was never read or never proven.
-- also: stale, old, age, last read, up to date, current
-- chart: bar x=stream y=hours_since_read
WITH stream_grades AS (
    SELECT s.stream, s.grade, s.age_since, r.snapshot_at, s.run_id = n.run_id AS is_newest
    FROM meta.streams AS s
    JOIN meta.runs AS r ON r.run_id = s.run_id
    CROSS JOIN mart.snapshot AS n
    WHERE r.snapshot_at IS NOT NULL
),
last_times AS (
    SELECT
        stream,
        max(snapshot_at) FILTER (grade IN ('exact', 'repaired', 'bounded', 'best_effort')) AS last_read_at,
        max(CASE WHEN grade = 'bounded' THEN age_since ELSE snapshot_at END)
            FILTER (grade IN ('exact', 'repaired', 'bounded'))                             AS last_proven_at
    FROM stream_grades
    GROUP BY stream
    HAVING bool_or(is_newest)
)
SELECT
    l.stream,
    l.last_read_at,
    l.last_proven_at,
    CAST((epoch_us(n.snapshot_at) - epoch_us(l.last_read_at)) / 3600e6 AS DECIMAL(18, 2))   AS hours_since_read,
    CAST((epoch_us(n.snapshot_at) - epoch_us(l.last_proven_at)) / 3600e6 AS DECIMAL(18, 2)) AS hours_since_proven,
    CASE WHEN l.last_read_at IS NOT NULL THEN
        (SELECT count(*) FROM meta.runs AS r WHERE r.snapshot_at > l.last_read_at)
    END AS runs_behind
FROM last_times AS l
CROSS JOIN mart.snapshot AS n
ORDER BY l.last_read_at NULLS FIRST, l.last_proven_at NULLS FIRST, l.stream
