# Prints which tables, views and macros of a catalog can be queried: "all", "none", or the names of
# those that fail. The catalog is opened, attached, and attached and used.
# usage: names.py CATALOG
import duckdb, json, sys

catalog = sys.argv[1]
EARLIER, LATER = "TIMESTAMPTZ '2000-01-01 00:00:00+00'", "TIMESTAMPTZ '2100-01-01 00:00:00+00'"


def failing(connection, database, prefix):
    found = {
        "tables": connection.execute("SELECT schema_name || '.' || table_name FROM duckdb_tables() WHERE database_name = ?", [database]).fetchall(),
        "views": connection.execute("SELECT schema_name || '.' || view_name FROM duckdb_views() WHERE database_name = ? AND NOT internal", [database]).fetchall(),
        "macros": connection.execute("""SELECT function_name || CASE WHEN len(parameters) = 1 THEN ? ELSE ? END FROM duckdb_functions()
            WHERE database_name = ? AND NOT internal""", [f"({LATER})", f"({EARLIER}, {LATER})", database]).fetchall(),
    }
    results = {}
    for kind, rows in found.items():
        names, failed = [name for name, in rows], []
        for name in names:
            try:
                connection.execute(f"SELECT count(*) FROM {prefix}{name}").fetchall()
            except duckdb.Error:
                failed.append(name)
        results[kind] = "none" if names and failed == names else ", ".join(failed) or "all"
    return results


results = {}
with duckdb.connect(catalog, read_only=True) as opened:
    results["opened"] = failing(opened, "catalog", "")
with duckdb.connect() as own:
    own.execute(f"ATTACH '{catalog}' AS w (READ_ONLY)")
    results["attached"] = failing(own, "w", "w.")
    own.execute("USE w")
    results["attached and used"] = failing(own, "w", "")
print(json.dumps(results))
