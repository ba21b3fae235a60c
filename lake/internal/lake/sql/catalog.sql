-- Iceberg's JDBC catalog. The statements run in SQLite and Postgres.

-- name: create_table_list
CREATE TABLE IF NOT EXISTS iceberg_tables (
    catalog_name               VARCHAR(255) NOT NULL,
    table_namespace            VARCHAR(255) NOT NULL,
    table_name                 VARCHAR(255) NOT NULL,
    metadata_location          VARCHAR(1000),
    previous_metadata_location VARCHAR(1000),
    iceberg_type               VARCHAR(5),
    PRIMARY KEY (catalog_name, table_namespace, table_name)
)

-- name: create_namespace_list
CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (
    catalog_name   VARCHAR(255) NOT NULL,
    namespace      VARCHAR(255) NOT NULL,
    property_key   VARCHAR(255) NOT NULL,
    property_value VARCHAR(1000),
    PRIMARY KEY (catalog_name, namespace, property_key)
)

-- name: limit_waits_of_postgres
-- The limits apply to this transaction. Errors of Postgres name the exceeded limit.
SELECT set_config('lock_timeout', '20s', true), set_config('statement_timeout', '60s', true)

-- name: add_namespace
-- Iceberg's JDBC catalog stores the property 'exists' for a namespace without other properties.
INSERT INTO iceberg_namespace_properties (catalog_name, namespace, property_key, property_value)
VALUES ($1, $2, 'exists', 'true')
ON CONFLICT DO NOTHING

-- name: list_tables
SELECT table_namespace, table_name, metadata_location
FROM iceberg_tables
WHERE catalog_name = $1 AND table_namespace IN ($2, $3, $4) AND metadata_location IS NOT NULL
ORDER BY table_namespace, table_name

-- name: list_foreign_tables
-- Tables of other catalogs and namespaces in the same database.
SELECT table_namespace, table_name, metadata_location
FROM iceberg_tables
WHERE NOT (catalog_name = $1 AND table_namespace IN ($2, $3, $4)) AND metadata_location IS NOT NULL

-- name: add_table
-- iceberg_type is not set: catalogs with the first layout of iceberg_tables lack the column. In other
-- catalogs NULL means a table.
INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location)
VALUES ($1, $2, $3, $4)

-- name: swap_table
UPDATE iceberg_tables SET metadata_location = $1, previous_metadata_location = $2
WHERE catalog_name = $3 AND table_namespace = $4 AND table_name = $5 AND metadata_location = $2
