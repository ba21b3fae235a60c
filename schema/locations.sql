-- Countries, states and cities of outlets, from GET /outlets/locations/*. Key: kind, name.
CREATE TABLE locations (
    kind  VARCHAR NOT NULL, -- field 1
    name  VARCHAR NOT NULL, -- field 2
    extra JSON              -- field 3
);

COMMENT ON TABLE locations IS 'Places that the outlet catalog can be filtered by, one row per place. From GET /outlets/locations/countries, states and cities.';
COMMENT ON COLUMN locations.kind IS 'Kind of place: country, state or city. Spec 4.2 GET /outlets/locations.';
COMMENT ON COLUMN locations.name IS 'Name of the place, or the string itself if the list contains plain strings. Spec 4.2 GET /outlets/locations.';
COMMENT ON COLUMN locations.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
