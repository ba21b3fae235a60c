-- The tables with unknown fields in the records of a run.
SELECT DISTINCT table_name FROM meta.drift WHERE kind = 'unknown_field' AND last_run = $run;
