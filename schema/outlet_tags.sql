-- Tags of an outlet: one row per tag. Key: outlet_id, position.
CREATE TABLE outlet_tags (
    outlet_id VARCHAR NOT NULL, -- field 1, references outlets.id
    position  BIGINT NOT NULL,  -- field 2
    name      VARCHAR,          -- field 3, references tags.name
    extra     JSON              -- field 4
);

COMMENT ON TABLE outlet_tags IS 'Tags of an outlet, one row per tag, in the order of the response.';
COMMENT ON COLUMN outlet_tags.outlet_id IS 'Id of the outlet: outlets.id.';
COMMENT ON COLUMN outlet_tags.position IS 'Position in the list of tags, counted from 1.';
COMMENT ON COLUMN outlet_tags.name IS 'Name of the tag, or the string itself if the list contains plain strings. Spec 2.2 Tag.name.';
COMMENT ON COLUMN outlet_tags.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
