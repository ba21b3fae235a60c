-- subject: quality
-- title: Results of the checks
-- grain: one row per check, failed ones first
-- about: The result of each check of the newest snapshot. If the newest run skipped a check, for example because a refresh did not read the tables of the check, the latest result of an earlier run is shown. The column "rows" is the number of violating rows, and "sample" contains the first of them. accepted_at is the time when a person published a held night although the check failed. The column is filled when the next night is published.
-- also: audit, validation, failed, errors, quality, tests
SELECT
    c.check_name,
    c.severity,
    c.outcome,
    c.rows,
    c.reason,
    CAST(c.sample AS VARCHAR) AS sample,
    r.snapshot_at AS audited_at,
    c.accepted_at,
    c.seconds
FROM meta.checks AS c
JOIN meta.runs AS r USING (run_id)
WHERE r.snapshot_at IS NOT NULL
    AND c.check_name IN (SELECT n.check_name FROM meta.checks AS n JOIN mart.snapshot USING (run_id))
QUALIFY row_number() OVER (PARTITION BY c.check_name ORDER BY c.outcome = 'skipped', r.snapshot_at DESC) = 1
ORDER BY list_position(['failed', 'not run', 'skipped', 'passed'], c.outcome), c.severity, c.check_name
