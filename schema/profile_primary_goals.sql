-- Primary goals of a profile: one row per goal. Key: profile_id, position.
-- An item keeps its position between nights if these columns are equal: name.
CREATE TABLE profile_primary_goals (
    profile_id VARCHAR NOT NULL, -- field 1, references profiles.id
    position   BIGINT NOT NULL,  -- field 2
    name       VARCHAR,          -- field 3
    extra      JSON              -- field 4
);

COMMENT ON TABLE profile_primary_goals IS 'Primary goals of a profile, one row per goal.';
COMMENT ON COLUMN profile_primary_goals.profile_id IS 'Id of the profile: profiles.id.';
COMMENT ON COLUMN profile_primary_goals.position IS 'Number of the goal in the profile, counted from 1. A goal with the same name keeps its number when the list comes in another order.';
COMMENT ON COLUMN profile_primary_goals.name IS 'Name of the goal, or the string itself if the list contains plain strings. Spec 2.5 Profile.primary_goals.';
COMMENT ON COLUMN profile_primary_goals.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
