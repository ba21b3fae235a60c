-- The derived tables of the catalog: every text is a number whose meaning is in a table, in
-- the order of the texts. A set of tags is one number, too.
{value_tables}
CREATE OR REPLACE TABLE derived.tag_sets (code INTEGER, tags VARCHAR[]);

CREATE OR REPLACE TABLE derived.places AS
SELECT rowid AS source, CAST(row_number() OVER (ORDER BY id) AS INTEGER) AS place FROM main.product_listings;
