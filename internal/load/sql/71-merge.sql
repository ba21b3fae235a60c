-- The merge runs in one transaction, after the gates.

-- name: set_compression
SET GLOBAL force_compression = 'auto'

-- name: close_versions
-- Changed and deleted rows move to past.
INSERT INTO {past} ({columns}, valid_from, row_hash, valid_to, run_id)
SELECT {columns}, valid_from, row_hash, {now}, {run} FROM {main} SEMI JOIN {changed_keys} USING ({key})

-- name: delete_closed
DELETE FROM {main} m USING {changed_keys} c WHERE {same_key}

-- name: insert_all
-- For a table that is empty in main.
INSERT INTO {main} ({columns}, valid_from, row_hash) SELECT {columns}, {now}, row_hash FROM {desired}

-- name: insert_versions
INSERT INTO {main} ({columns}, valid_from, row_hash) SELECT {columns}, {now}, row_hash FROM {desired}
SEMI JOIN {changed_keys} USING ({key})

-- name: replace_values
-- The fingerprint is replaced too. Otherwise the same values would be a change in the next night.
UPDATE {main} AS m SET row_hash = w.row_hash, {assignments}
FROM {desired} w SEMI JOIN {replaced} USING ({key})
WHERE {same_key}

-- name: assignment
{column} = w.{column}

-- name: write_deletions
INSERT INTO meta.deletions (run_id, table_name, key, evidence)
SELECT {run}, {table}, concat_ws('/', {key}), {evidence} FROM {changed_keys} m WHERE gone

-- name: evidence_of_responses
CASE WHEN {param} IN (SELECT id FROM {requested} WHERE outcome = '404') THEN {not_found} ELSE {absent} END

-- name: evidence_by_list
-- For a table that several lists fill. Columns with a fixed value for each list distinguish their rows. ELSE is
-- for a first list without such columns.
CASE {cases} ELSE {absent_from_first_list} END

-- name: evidence_case
WHEN {stream_condition} THEN {absent_from_list}

-- name: forget_details
-- Removes the answered details and the details with a 404. write_details adds them again.
DELETE FROM meta.details WHERE stream = {stream} AND id IN (SELECT id FROM {requested} WHERE outcome <> 'missed')

-- name: mark_missed_details
-- The next night requests these details again, even if they are settled.
UPDATE meta.details SET failed_at = {now} WHERE stream = {stream} AND id IN (SELECT id FROM {requested} WHERE outcome = 'missed')

-- name: write_details
-- The plan of the next night compares these fingerprints. An id with a 404 is settled like a record, for example a
-- withdrawn product that an order names. If the last request for the id had another result, or was a recheck, the id
-- gets no row, and the next night confirms the 404. read_at is NULL if meta.details had no row of the id before this
-- night.
INSERT INTO meta.details (stream, id, fingerprint, run_id, read_at)
SELECT {stream}, id, fingerprint, {run}, {now} FROM {plan}
WHERE id IN (SELECT id FROM {requested} WHERE outcome = 'answered')
    OR (read_at IS NULL AND id IN (SELECT id FROM {requested} WHERE outcome = '404'))
