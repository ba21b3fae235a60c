-- What the sets of tags hold; 0 is that of a listing without any.
CREATE OR REPLACE TABLE derived.tag AS
SELECT code, unnest(tags) AS value FROM derived.tag_sets UNION ALL SELECT 0, NULL;
DROP TABLE derived.part;
DROP TABLE derived.tagged;
DROP TABLE derived.offered;
DROP TABLE derived.places;
