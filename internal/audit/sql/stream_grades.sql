-- The grades of the streams in a run.
SELECT stream, grade FROM meta.streams WHERE run_id = $run;
