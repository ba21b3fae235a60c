-- Meanings of the statuses of articles, from the configuration. Key: prefix.
CREATE TABLE statuses (
    prefix      VARCHAR NOT NULL, -- field 1
    state       VARCHAR,          -- field 2
    waits_for   VARCHAR,          -- field 3
    is_revision BOOLEAN           -- field 4
);

COMMENT ON TABLE statuses IS 'Meanings of the statuses of articles, one row per prefix in the section statuses of the configuration. The rows are those of the newest night, refresh or rebuild.';
COMMENT ON COLUMN statuses.prefix IS 'Stable identifier of the status, as in articles.status_prefix and article_statuses.prefix.';
COMMENT ON COLUMN statuses.state IS 'open, published or ended (without being published).';
COMMENT ON COLUMN statuses.waits_for IS 'Who has to act next in an open status: partner (to change something), approval (of the partner), writer or publisher; NULL if the configuration does not say.';
COMMENT ON COLUMN statuses.is_revision IS 'Whether the status requests a revision.';
