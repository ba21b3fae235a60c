-- subject: quality
-- title: Results of the checks
-- grain: one row per check, failed ones first
-- about: Results of the checks that audited the newest snapshot before it was published. rows counts the violating rows, and sample contains the first of them. A check is skipped if it has nothing to compare. accepted_at is the time when a person published a held night despite the check; the next night records it.
SELECT
    c.check_name,
    c.severity,
    c.outcome,
    c.rows,
    c.reason,
    CAST(c.sample AS VARCHAR) AS sample,
    c.accepted_at,
    c.seconds
FROM meta.checks AS c
JOIN mart.snapshot AS n USING (run_id)
ORDER BY list_position(['failed', 'not run', 'skipped', 'passed'], c.outcome), c.severity, c.check_name
