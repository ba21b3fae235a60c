# Prints the night that it sees, waits for a line of input, during which another night is published,
# and then prints the nights that its old and new connections see.
# usage: nights.py CATALOG
import duckdb, json, os, sys

catalog = sys.argv[1]


def newest(connection, schema="meta"):
    return connection.execute(f"SELECT max(run_id) FROM {schema}.runs").fetchone()[0]


def attached():
    own.execute(f"ATTACH '{catalog}' AS w (READ_ONLY)")
    return newest(own, "w.meta")


own, kept = duckdb.connect(), duckdb.connect(catalog, read_only=True)
attached()
print(newest(kept), flush=True)
sys.stdin.readline()
results = {"first": newest(kept)}
with duckdb.connect(catalog, read_only=True) as beside:
    results["second"] = newest(beside)
with duckdb.connect(os.path.realpath(catalog), read_only=True) as resolved:
    results["second by the real path"] = newest(resolved)
own.execute("DETACH w")
results["attached again"] = attached()
kept.close()
with duckdb.connect(catalog, read_only=True) as again:
    results["opened after the first was closed"] = newest(again)
print(json.dumps(results))
