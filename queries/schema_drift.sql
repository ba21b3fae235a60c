-- subject: quality
-- title: Drift of the service
-- grain: one row per table, path and kind of drift, new ones first
-- about: Fields and values that are not in the specification, and values that were converted. Unknown fields are stored in the column extra of their table, unknown values in their column. is_new marks drift that first appeared in the newest snapshot. The column advice is filled if a column without values has a similar name: see the check fields_renamed. The comment of meta.drift.kind explains the kinds.
-- also: unknown field, new field, API change, enum, unexpected
-- The advice of the newest run. A line is like "api.fields: {articles.name: title, articles.live_url: address}".
WITH advice AS (
    SELECT c.run_id, json_extract_string(found.value, '$.table_name') AS table_name, json_extract_string(found.value, '$.set_in_configuration') AS line
    FROM meta.checks AS c, json_each(c.sample) AS found
    WHERE c.check_name = 'fields_renamed' AND c.run_id = (SELECT run_id FROM mart.snapshot)
)
SELECT
    d.table_name,
    d.path,
    d.kind,
    coalesce(d.first_run = n.run_id, false) AS is_new,
    d.first_run,
    d.last_run,
    d.count,
    d.sample,
    'A column with a similar name has no value. If this field belongs to it, set ' || a.line AS advice
FROM meta.drift AS d
CROSS JOIN mart.snapshot AS n
-- The line belongs to a field if it contains ": path,", where the last path ends with a brace instead of the comma.
LEFT JOIN advice AS a ON a.run_id = d.last_run AND a.table_name = d.table_name AND d.kind = 'unknown_field'
    AND contains(replace(a.line, '}', ','), ': ' || d.path || ',')
ORDER BY is_new DESC, d.last_run DESC, d.table_name, d.kind, d.path
