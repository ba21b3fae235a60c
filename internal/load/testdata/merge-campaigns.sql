CREATE TABLE stage."desired"."$extra campaigns" (id VARCHAR, extra VARCHAR);

SELECT d."id", l.extra::VARCHAR AS fallback, d.extra AS preferred
FROM stage."campaign_details"."campaigns" d
JOIN (SELECT * FROM stage."campaigns"."campaigns" WHERE "id" NOT IN (SELECT "id" FROM main."campaigns" WHERE "id" IN (
    SELECT id FROM stage."campaign_details"."$plan" WHERE why = 'carried' OR (unread AND keeps_rows)
    UNION ALL SELECT id FROM stage."campaign_details"."$requested" WHERE outcome = 'missed'))) l USING ("id")
WHERE d.extra <> l.extra::VARCHAR
UNION ALL
SELECT l."id", m.extra::VARCHAR, l.extra
FROM (SELECT * FROM stage."campaigns"."campaigns" WHERE "id" NOT IN (SELECT "id" FROM main."campaigns" WHERE "id" IN (
    SELECT id FROM stage."campaign_details"."$plan" WHERE why = 'carried' OR (unread AND keeps_rows)
    UNION ALL SELECT id FROM stage."campaign_details"."$requested" WHERE outcome = 'missed'))) l
JOIN main."campaigns" m USING ("id")
ANTI JOIN stage."campaign_details"."campaigns" d USING ("id")
WHERE l.extra <> m.extra::VARCHAR
UNION ALL
SELECT d."id", m.extra::VARCHAR, d.extra
FROM stage."campaign_details"."campaigns" d
JOIN main."campaigns" m USING ("id")
ANTI JOIN (SELECT * FROM stage."campaigns"."campaigns" WHERE "id" NOT IN (SELECT "id" FROM main."campaigns" WHERE "id" IN (
    SELECT id FROM stage."campaign_details"."$plan" WHERE why = 'carried' OR (unread AND keeps_rows)
    UNION ALL SELECT id FROM stage."campaign_details"."$requested" WHERE outcome = 'missed'))) l USING ("id")
WHERE d.extra <> m.extra::VARCHAR;

CREATE TABLE stage."desired"."campaigns" AS SELECT *, md5_number_lower(concat_ws(chr(31),
        'articles=' || "articles"::VARCHAR,
        'budget=' || "budget"::VARCHAR,
        'created_at=' || epoch_us("created_at")::VARCHAR,
        'deleted_at=' || epoch_us("deleted_at")::VARCHAR,
        'description=' || "description"::VARCHAR,
        'extra=' || "extra"::VARCHAR,
        'file_id=' || "file_id"::VARCHAR,
        'goals=' || "goals"::VARCHAR,
        'id=' || "id"::VARCHAR,
        'keywords=' || "keywords"::VARCHAR,
        'name=' || "name"::VARCHAR,
        'objectives=' || "objectives"::VARCHAR,
        'profile_id=' || "profile_id"::VARCHAR,
        'profile_logo=' || "profile_logo"::VARCHAR,
        'profile_name=' || "profile_name"::VARCHAR,
        'questionnaire_id=' || "questionnaire_id"::VARCHAR,
        'reference=' || "reference"::VARCHAR,
        'status=' || "status"::VARCHAR,
        'target_audience=' || "target_audience"::VARCHAR,
        'target_date=' || epoch_us("target_date")::VARCHAR,
        'tone=' || "tone"::VARCHAR,
        'total_articles=' || "total_articles"::VARCHAR,
        'updated_at=' || epoch_us("updated_at")::VARCHAR,
        'v1_campaign_id=' || "v1_campaign_id"::VARCHAR,
        'writing_samples=' || "writing_samples"::VARCHAR)) AS row_hash FROM (
    SELECT coalesce(nullif(d."id", ''), nullif(l."id", ''), m."id", l."id", d."id") AS "id",
        coalesce(nullif(d."name", ''), nullif(l."name", ''), m."name", l."name", d."name") AS "name",
        coalesce(nullif(d."description", ''), nullif(l."description", ''), m."description", l."description", d."description") AS "description",
        coalesce(nullif(d."reference", ''), nullif(l."reference", ''), m."reference", l."reference", d."reference") AS "reference",
        coalesce(nullif(d."profile_id", ''), nullif(l."profile_id", ''), m."profile_id", l."profile_id", d."profile_id") AS "profile_id",
        coalesce(nullif(d."v1_campaign_id", ''), nullif(l."v1_campaign_id", ''), m."v1_campaign_id", l."v1_campaign_id", d."v1_campaign_id") AS "v1_campaign_id",
        coalesce(nullif(d."status", ''), nullif(l."status", ''), m."status", l."status", d."status") AS "status",
        coalesce(nullif(d."goals", ''), nullif(l."goals", ''), m."goals", l."goals", d."goals") AS "goals",
        coalesce(d."target_date", l."target_date", m."target_date") AS "target_date",
        coalesce(d."budget", l."budget", m."budget") AS "budget",
        coalesce(d."created_at", l."created_at", m."created_at") AS "created_at",
        coalesce(d."updated_at", l."updated_at", m."updated_at") AS "updated_at",
        coalesce(d."deleted_at", l."deleted_at", m."deleted_at") AS "deleted_at",
        coalesce(nullif(d."questionnaire_id", ''), nullif(l."questionnaire_id", ''), m."questionnaire_id", l."questionnaire_id", d."questionnaire_id") AS "questionnaire_id",
        coalesce(nullif(d."keywords", ''), nullif(l."keywords", ''), m."keywords", l."keywords", d."keywords") AS "keywords",
        coalesce(nullif(d."objectives", ''), nullif(l."objectives", ''), m."objectives", l."objectives", d."objectives") AS "objectives",
        coalesce(nullif(d."target_audience", ''), nullif(l."target_audience", ''), m."target_audience", l."target_audience", d."target_audience") AS "target_audience",
        coalesce(nullif(d."tone", ''), nullif(l."tone", ''), m."tone", l."tone", d."tone") AS "tone",
        coalesce(nullif(d."writing_samples", ''), nullif(l."writing_samples", ''), m."writing_samples", l."writing_samples", d."writing_samples") AS "writing_samples",
        coalesce(nullif(d."file_id", ''), nullif(l."file_id", ''), m."file_id", l."file_id", d."file_id") AS "file_id",
        coalesce(d."total_articles", l."total_articles", m."total_articles") AS "total_articles",
        coalesce(nullif(d."profile_name", ''), nullif(l."profile_name", ''), m."profile_name", l."profile_name", d."profile_name") AS "profile_name",
        coalesce(nullif(d."profile_logo", ''), nullif(l."profile_logo", ''), m."profile_logo", l."profile_logo", d."profile_logo") AS "profile_logo",
        coalesce(d."articles", l."articles", m."articles") AS "articles",
        coalesce(x.extra, d.extra, l.extra, m.extra) AS "extra"
    FROM stage."campaign_details"."campaigns" d FULL JOIN (SELECT * FROM stage."campaigns"."campaigns" WHERE "id" NOT IN (SELECT "id" FROM main."campaigns" WHERE "id" IN (
    SELECT id FROM stage."campaign_details"."$plan" WHERE why = 'carried' OR (unread AND keeps_rows)
    UNION ALL SELECT id FROM stage."campaign_details"."$requested" WHERE outcome = 'missed'))) l ON d."id" = l."id"
    LEFT JOIN main."campaigns" m ON m."id" = coalesce(d."id", l."id") AND (d.seq IS NULL OR l.seq IS NULL)
    LEFT JOIN stage."desired"."$extra campaigns" x ON x.id = coalesce(d."id", l."id"));

SELECT 'campaigns', count(*) FROM main."campaigns" UNION ALL SELECT 'questionnaires', count(*) FROM main."questionnaires";

CREATE TABLE stage."changed_keys"."campaigns" AS SELECT coalesce(m."id", w."id") AS "id", w.row_hash IS NULL AS gone, m.row_hash IS NULL AS is_new
FROM main."campaigns" m FULL JOIN stage."desired"."campaigns" w ON m."id" = w."id"
WHERE m.row_hash IS DISTINCT FROM w.row_hash AND (w.row_hash IS NOT NULL OR (m."id" NOT IN (SELECT "id" FROM main."campaigns" WHERE "id" IN (
    SELECT id FROM stage."campaign_details"."$plan" WHERE why = 'carried' OR (unread AND keeps_rows)
    UNION ALL SELECT id FROM stage."campaign_details"."$requested" WHERE outcome = 'missed'))));

SELECT 0, count(*) FILTER (is_new), count(*) FILTER (NOT gone AND NOT is_new), count(*) FILTER (gone) FROM stage."changed_keys"."campaigns" UNION ALL SELECT 1, count(*), 0, 0 FROM stage."desired"."questionnaires";

CREATE OR REPLACE TABLE stage."changed_keys"."$maybe_equal" AS SELECT c.rowid AS row_id, c."id" FROM stage."changed_keys"."campaigns" c
JOIN main."campaigns" m ON c."id" = m."id"
JOIN stage."desired"."campaigns" w ON c."id" = w."id"
WHERE NOT c.gone AND NOT c.is_new AND (m."profile_logo"::VARCHAR IS DISTINCT FROM w."profile_logo"::VARCHAR OR m."articles"::VARCHAR IS DISTINCT FROM w."articles"::VARCHAR OR m."extra"::VARCHAR IS DISTINCT FROM w."extra"::VARCHAR);

INSERT INTO past."campaigns" ("id", "name", "description", "reference", "profile_id", "v1_campaign_id", "status", "goals", "target_date", "budget", "created_at", "updated_at", "deleted_at", "questionnaire_id", "keywords", "objectives", "target_audience", "tone", "writing_samples", "file_id", "total_articles", "profile_name", "profile_logo", "articles", "extra", valid_from, row_hash, valid_to, run_id)
SELECT "id", "name", "description", "reference", "profile_id", "v1_campaign_id", "status", "goals", "target_date", "budget", "created_at", "updated_at", "deleted_at", "questionnaire_id", "keywords", "objectives", "target_audience", "tone", "writing_samples", "file_id", "total_articles", "profile_name", "profile_logo", "articles", "extra", valid_from, row_hash, TIMESTAMPTZ '2026-11-02 02:00:00.000000+00', '20261102T020000Z' FROM main."campaigns" SEMI JOIN stage."changed_keys"."campaigns" USING ("id");

DELETE FROM main."campaigns" m USING stage."changed_keys"."campaigns" c WHERE m."id" = c."id";

INSERT INTO main."campaigns" ("id", "name", "description", "reference", "profile_id", "v1_campaign_id", "status", "goals", "target_date", "budget", "created_at", "updated_at", "deleted_at", "questionnaire_id", "keywords", "objectives", "target_audience", "tone", "writing_samples", "file_id", "total_articles", "profile_name", "profile_logo", "articles", "extra", valid_from, row_hash) SELECT "id", "name", "description", "reference", "profile_id", "v1_campaign_id", "status", "goals", "target_date", "budget", "created_at", "updated_at", "deleted_at", "questionnaire_id", "keywords", "objectives", "target_audience", "tone", "writing_samples", "file_id", "total_articles", "profile_name", "profile_logo", "articles", "extra", TIMESTAMPTZ '2026-11-02 02:00:00.000000+00', row_hash FROM stage."desired"."campaigns"
SEMI JOIN stage."changed_keys"."campaigns" USING ("id");

INSERT INTO meta.deletions (run_id, table_name, key, evidence)
SELECT '20261102T020000Z', 'campaigns', concat_ws('/', "id"), CASE WHEN "id" IN (SELECT id FROM stage."campaign_details"."$requested" WHERE outcome = '404') THEN '404 from /campaigns/{id}' ELSE 'absent from a proven walk of campaigns' END FROM stage."changed_keys"."campaigns" m WHERE gone;

