-- subject: quality
-- severity: hold
-- title: References without a record
-- grain: one row per reference column
-- about: More than half of the references in a column have no record in the referenced table; in the previous snapshot less than a tenth had no record. Reason: the column may contain ids of another kind, or another form of the same ids. The schema files define the reference columns. A column is compared only if at least a tenth of the rows changed in its table or in the referenced table, and if it has enough references in both snapshots. Not detected: references to a wrong but existing record (see attributes_rewritten).
-- each: reference
-- param: share DECIMAL 0.5 -- allowed share of references without a record
-- param: share_before DECIMAL 0.1 -- leave out columns in which this share of the references, or more, had no record before
-- param: min_references COUNT 50 -- leave out columns with fewer references in either snapshot
SELECT {name} AS reference, {target_name} AS names, b.lost AS lost_before, b.total AS references_before, n.lost, n.total AS references_now
FROM (SELECT count({column}) AS total, count_if({column} IS NOT NULL AND {column} NOT IN (SELECT {target_column} FROM {target} WHERE {target_column} IS NOT NULL)) AS lost FROM {table}) AS n,
    (SELECT count({column}) AS total, count_if({column} IS NOT NULL AND {column} NOT IN (SELECT {target_column} FROM before.{target} WHERE {target_column} IS NOT NULL)) AS lost FROM before.{table}) AS b
WHERE n.total >= $min_references AND b.total >= $min_references AND n.lost > n.total * CAST($share AS DECIMAL(9, 3)) AND b.lost < b.total * CAST($share_before AS DECIMAL(9, 3))
ORDER BY ALL
