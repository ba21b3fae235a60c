-- Tags of the service, from GET /tags. Key: name.
CREATE TABLE tags (
    name  VARCHAR NOT NULL, -- field 1
    extra JSON              -- field 2
);

COMMENT ON TABLE tags IS 'Tags that outlets and listings can have, one row per tag. From GET /tags.';
COMMENT ON COLUMN tags.name IS 'Name of the tag. Spec 2.2 Tag.name.';
COMMENT ON COLUMN tags.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
