"""Reads a lake with Trino: every table of every night, then the views."""

import sys

from compare import read_job, print_result
from lake import check_tables
from trino_server import trino as server
from trino_sql import Client, check


def main():
    job = read_job()
    with server(job["scratch"], {job["lake_catalog"]: job["trino"]}) as port:
        client = Client(port, "UTC")
        name = job["catalog_kind"]
        print_result(version=f"{name}: Trino " + client.run("SELECT node_version FROM system.runtime.nodes")[0][0])

        def read(part, table, columns, tag, schema):
            version = f" FOR VERSION AS OF '{tag}'" if tag else ""
            chosen = ", ".join(f'"{c}"' for c in columns)
            return client.table(f"SELECT {chosen} FROM {job['lake_catalog']}.{job['prefix']}_{part}.{table}{version}", schema)

        check_tables(job, name, read)
        for case in job["cases"]:
            for statement in case["views"]:
                client.run(statement)
            check(client, case)
            # A view with the SQL of another engine cannot be replaced.
            for view in reversed(case["marts"]):
                client.run(f"DROP VIEW {case['view_namespace']}.{view['name']}")


if __name__ == "__main__":
    sys.exit(main())
