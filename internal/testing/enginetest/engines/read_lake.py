"""Reads every table of a lake with PyIceberg, DuckDB's extension and ClickHouse."""

import importlib.metadata
import sys

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import load_catalog

from compare import read_job, print_result
from lake import check_tables


def pyiceberg(job):
    catalog = load_catalog(job["lake_catalog"], **job["pyiceberg"])
    print_result(version="PyIceberg " + importlib.metadata.version("pyiceberg"))

    def read(part, table, columns, tag, _):
        found = catalog.load_table(f"{job['prefix']}_{part}.{table}")
        snapshot = found.snapshot_by_name(tag).snapshot_id if tag and found.metadata.snapshots else None
        return found.scan(selected_fields=tuple(columns), snapshot_id=snapshot).to_arrow().select(columns)

    check_tables(job, job["catalog_kind"] + ": PyIceberg", read)
    return catalog


def by_duckdb(job, catalog):
    db = duckdb.connect()
    db.execute("SET TimeZone = 'UTC'")
    bucket = bucket_of(job)
    for name in ("avro", "httpfs", "iceberg") if bucket else ("avro", "iceberg"):
        module = importlib.import_module(f"duckdb_extension_{name}")
        db.execute(f"LOAD '{extension_file(module, name)}'")
    if bucket:
        scheme, host = bucket["endpoint"].split("://")
        db.execute(f"CREATE SECRET (TYPE s3, KEY_ID '{bucket['access-key-id']}', SECRET '{bucket['secret-access-key']}', REGION '{bucket['region']}', "
                   f"ENDPOINT '{host}', USE_SSL {scheme == 'https'}, URL_STYLE 'path')")
    print_result(version=f"DuckDB {duckdb.__version__} with its extension iceberg")

    def read(part, table, columns, tag, schema):
        found = catalog.load_table(f"{job['prefix']}_{part}.{table}")
        if tag and not found.metadata.snapshots:
            return schema.empty_table()
        at = f", snapshot_from_id = {found.snapshot_by_name(tag).snapshot_id}" if tag else ""
        chosen = ", ".join(f'"{c}"' for c in columns)
        return db.execute(f"SELECT {chosen} FROM iceberg_scan('{found.metadata_location}'{at})").to_arrow_table()

    check_tables(job, job["catalog_kind"] + ": DuckDB's iceberg", read)


def bucket_of(job):
    """The settings of the bucket with the tables. They are empty for a folder."""
    return {key.removeprefix("s3."): value for key, value in job["pyiceberg"].items() if key.startswith("s3.")}


def extension_file(module, name):
    import pathlib
    files = sorted(pathlib.Path(module.__path__[0]).rglob(f"{name}.duckdb_extension"))
    return files[0]


def by_clickhouse(job, catalog):
    import chdb
    print_result(version="ClickHouse " + str(chdb.query("SELECT version()")).strip().strip('"') + " (chdb)")

    def read(part, table, columns, tag, schema):
        found = catalog.load_table(f"{job['prefix']}_{part}.{table}")
        if not found.metadata.snapshots:
            return schema.empty_table()
        settings = "SETTINGS output_format_arrow_string_as_string = 1"
        if tag:
            settings += f", iceberg_snapshot_id = {found.snapshot_by_name(tag).snapshot_id}"
        path = found.location().removeprefix("file://")
        committed = found.metadata_location.removeprefix(found.location() + "/")  # otherwise the newest file of the folder is read
        chosen = ", ".join(f"`{c}`" for c in columns)
        raw = chdb.query(f"SELECT {chosen} FROM icebergLocal('{path}', SETTINGS iceberg_metadata_file_path = '{committed}') {settings}", "ArrowStream").bytes()
        got = pa.ipc.open_stream(raw).read_all() if raw else schema.empty_table()
        return pa.Table.from_arrays([plain(got.column(i), field) for i, field in enumerate(schema)], schema=schema)

    check_tables(job, job["catalog_kind"] + ": ClickHouse", read)


def plain(column, field):
    """Casts a column of ClickHouse to the wanted type. It returns booleans as numbers, and dates
    and strings in other Arrow types."""
    if pa.types.is_boolean(field.type) and not pa.types.is_boolean(column.type):
        return pc.equal(column, 1).combine_chunks()
    return column.cast(field.type).combine_chunks()


def main():
    job = read_job()
    catalog = pyiceberg(job)
    by_duckdb(job, catalog)
    if not bucket_of(job):  # icebergLocal reads only folders
        by_clickhouse(job, catalog)


if __name__ == "__main__":
    sys.exit(main())
