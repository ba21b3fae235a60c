-- Type and scopes of the token, from GET /auth/token; never the token itself. Key: team_id.
CREATE TABLE token (
    team_id             VARCHAR NOT NULL, -- field 1
    source              VARCHAR,          -- field 2
    token_type          VARCHAR,          -- field 3
    scopes              JSON,             -- field 4
    pro_pricing_enabled BOOLEAN,          -- field 5
    extra               JSON              -- field 6
);

COMMENT ON TABLE token IS 'Type and scopes of the token of the night, one row. From GET /auth/token.';
COMMENT ON COLUMN token.team_id IS 'Id of the team that owns the token, as text. Spec 2.1 Token info.team_id.';
COMMENT ON COLUMN token.source IS 'Source of the token, as text. Spec 2.1 Token info.source.';
COMMENT ON COLUMN token.token_type IS 'Type of the token, usually a value of spec 2.7; other texts are kept. Spec 2.1 Token info.token_type.';
COMMENT ON COLUMN token.scopes IS 'Scopes of the token, a list of texts. Spec 2.1 Token info.scopes.';
COMMENT ON COLUMN token.pro_pricing_enabled IS 'Whether professional pricing applies. Any value other than a boolean is in meta.rejects. Spec 2.1 Token info.pro_pricing_enabled.';
COMMENT ON COLUMN token.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
