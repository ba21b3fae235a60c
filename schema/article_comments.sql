-- Comments on an article and their replies, from GET /articles/{id}/comments. Key:
-- article_id, id.
CREATE TABLE article_comments (
    article_id        VARCHAR NOT NULL, -- field 1, references articles.id
    id                VARCHAR NOT NULL, -- field 2
    content           VARCHAR,          -- field 3
    author_name       VARCHAR,          -- field 4
    author_email      VARCHAR,          -- field 5
    created_at        TIMESTAMPTZ,      -- field 6
    updated_at        TIMESTAMPTZ,      -- field 7
    parent_comment_id VARCHAR,          -- field 8, references article_comments.id
    extra             JSON              -- field 9
);

COMMENT ON TABLE article_comments IS 'Comments on an article, one row per comment or reply; replies are one level deep. From GET /articles/{id}/comments.';
COMMENT ON COLUMN article_comments.article_id IS 'Id of the article: articles.id. Spec 4.2 GET /articles/{id}/comments.';
COMMENT ON COLUMN article_comments.id IS 'Id of the comment, a short text. Spec 2.6 Comment.id.';
COMMENT ON COLUMN article_comments.content IS 'Plain text of the comment. Spec 2.6 Comment.content.';
COMMENT ON COLUMN article_comments.author_name IS 'Name of the author. Spec 2.6 Comment.author.name.';
COMMENT ON COLUMN article_comments.author_email IS 'E-mail address of the author. Spec 2.6 Comment.author.email.';
COMMENT ON COLUMN article_comments.created_at IS 'When the record was created, UTC. Spec 2.6 Comment.created_at.';
COMMENT ON COLUMN article_comments.updated_at IS 'When the record was last changed, UTC. Spec 2.6 Comment.updated_at.';
COMMENT ON COLUMN article_comments.parent_comment_id IS 'Id of the comment that this reply answers; NULL if it is not a reply. Spec 2.6 Comment.parent_comment_id.';
COMMENT ON COLUMN article_comments.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
