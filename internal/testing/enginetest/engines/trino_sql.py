"""Computes the views of mart in Trino, over the tables of each case."""

import sys
import time

import trino.dbapi
import trino.exceptions

from compare import Comparison, read_job, print_result, table_of
from trino_server import trino as server

# The catalog files reads Parquet files in place, with times without a zone. The catalog memory
# contains the tables with times in UTC.
CATALOGS = {
    "memory": "connector.name=memory\nmemory.max-data-per-node=1500MB\n",
    "files": "connector.name=hive\nhive.metastore=file\nhive.metastore.catalog.dir=local:///metastore\nfs.native-local.enabled=true\n"
             "local.location={root}\nhive.timestamp-precision=MICROSECONDS\nhive.non-managed-table-writes-enabled=true\n",
}


class Client:
    def __init__(self, port, zone):
        self.connection = trino.dbapi.connect(host="127.0.0.1", port=port, user="test", timezone=zone)

    def run(self, sql, undo=None):
        return self.execute(sql, undo=undo)[1]

    def execute(self, sql, undo=None):
        """Returns the cursor and the rows of a statement. In its first seconds, Trino may report
        that it has no nodes. The statement may then leave a table, which undo removes."""
        for left in range(60, -1, -1):
            cursor = self.connection.cursor()
            try:
                cursor.execute(sql)
                return cursor, cursor.fetchall()
            except trino.exceptions.TrinoQueryError as err:
                if err.error_name != "NO_NODES_AVAILABLE" or left == 0:
                    raise
                time.sleep(1)
                if undo:
                    self.run(undo)

    def table(self, sql, schema):
        """Returns the result as Arrow, with the columns that Trino describes."""
        cursor, rows = self.execute(sql)
        return table_of(rows, [(column.name, column.type_code) for column in cursor.description], schema)


def load(client, case, root):
    db = Comparison(case["duckdb_path"])
    for part in ("current", "past", "meta"):
        client.run(f"CREATE SCHEMA IF NOT EXISTS files.{case['prefix']}_{part}")
        client.run(f"CREATE SCHEMA IF NOT EXISTS memory.{case['prefix']}_{part}")
    for table in case["tables"]:
        name = f"{case['prefix']}_{table['part']}.{table['name']}"
        columns = db.columns(f"FROM read_parquet('{table['path']}')")
        folder = table["path"][len(root):].rsplit("/", 1)[0]
        typed = ", ".join(f'"{c}" {hive_type(kind)}' for c, kind in columns)
        client.run(f"CREATE TABLE files.{name} ({typed}) WITH (external_location = 'local://{folder}', format = 'PARQUET')")
        chosen = ", ".join(f'with_timezone("{c}", \'UTC\') AS "{c}"' if kind.endswith("ZONE") else f'"{c}"' for c, kind in columns)
        client.run(f"CREATE TABLE memory.{name} AS SELECT {chosen} FROM files.{name}", undo=f"DROP TABLE IF EXISTS memory.{name}")
    for statement in case["views"]:
        client.run(statement)


def hive_type(kind):
    if kind.startswith("DECIMAL"):
        return kind
    return {"TIMESTAMP WITH TIME ZONE": "TIMESTAMP(6)", "JSON": "VARCHAR", "FLOAT": "REAL"}.get(kind, kind)


def check(client, case):
    against = Comparison(case["duckdb_path"])
    for view in case.get("marts", []):
        against.check(f"{case['name']}: mart {view['name']}", f"SELECT * FROM mart.{view['name']}",
                      lambda schema: client.table(f"SELECT * FROM {case['view_namespace']}.{view['name']}", schema),
                      nearly=view.get("nearly", []))


def main():
    job = read_job()
    catalogs = {name: text.format(root=job["scratch"]) for name, text in CATALOGS.items()}
    with server(job["scratch"], catalogs) as port:
        client = Client(port, job.get("timezone", "UTC"))
        print_result(version="Trino " + client.run("SELECT node_version FROM system.runtime.nodes")[0][0])
        for case in job["cases"]:
            load(client, case, job["scratch"])
            check(client, case)


if __name__ == "__main__":
    sys.exit(main())
