-- Tags of an outlet: one row per tag. Key: outlet_id, position.
-- An item keeps its position between nights if these columns are equal: name.
CREATE TABLE outlet_tags (
    outlet_id VARCHAR NOT NULL, -- field 1, references outlets.id
    position  BIGINT NOT NULL,  -- field 2
    name      VARCHAR,          -- field 3, references tags.name
    extra     JSON              -- field 4
);

COMMENT ON TABLE outlet_tags IS 'Tags of an outlet, one row per tag.';
COMMENT ON COLUMN outlet_tags.outlet_id IS 'Id of the outlet: outlets.id.';
COMMENT ON COLUMN outlet_tags.position IS 'Number of the tag in the outlet, counted from 1. A tag with the same name keeps its number when the list comes in another order.';
COMMENT ON COLUMN outlet_tags.name IS 'Name of the tag, or the string itself if the list contains plain strings. Spec 2.2 Tag.name.';
COMMENT ON COLUMN outlet_tags.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
