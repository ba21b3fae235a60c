-- Disclaimers that channels can have, from GET /outlet-disclaimers. Key: id.
CREATE TABLE disclaimers (
    id          VARCHAR NOT NULL, -- field 1
    name        VARCHAR,          -- field 2
    description VARCHAR,          -- field 3
    extra       JSON              -- field 4
);

COMMENT ON TABLE disclaimers IS 'Disclaimers that channels can have, one row per disclaimer. From GET /outlet-disclaimers.';
COMMENT ON COLUMN disclaimers.id IS 'Id of the disclaimer. Spec 2.2 DisclaimerRecord.id.';
COMMENT ON COLUMN disclaimers.name IS 'Name of the disclaimer. Spec 2.2 DisclaimerRecord.name.';
COMMENT ON COLUMN disclaimers.description IS 'Text of the disclaimer. Spec 2.2 DisclaimerRecord.description.';
COMMENT ON COLUMN disclaimers.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
