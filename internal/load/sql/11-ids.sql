-- A UUID is one id in upper and in lower case. The ids of a night are written in the case of most stored ids.

-- name: count_cases
-- The ids with upper and with lower case letters in a part of a table.
SELECT {table}, count(*) FILTER (id <> lower(id)), count(*) FILTER (id <> upper(id)) FROM (SELECT {column} AS id FROM {main} LIMIT 1000)
WHERE regexp_full_match(id, {uuid})

-- name: rewrite_ids
-- An id that is stored in both cases stays, because it is two rows. The row that is not read again is deleted by the night.
UPDATE {table} SET {column} = {unified} WHERE {column} <> {unified} AND regexp_full_match({column}, {uuid}) AND lower({column}) IN (
    SELECT lower({column}) FROM {table} GROUP BY 1 HAVING count(DISTINCT {column}) = 1)

-- name: unified
{function}({column})
