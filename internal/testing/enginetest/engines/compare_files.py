"""Compares Parquet files, in place of the results of an engine, with DuckDB. It is for the tests
of the comparison."""

import os
import sys

import pyarrow.parquet as pq

from compare import Comparison, read_job, table_of
from lake import check_tables


def read(case, schema):
    """The result of an engine, or of a client that describes its columns."""
    found = pq.read_table(case["got"])
    if case.get("described"):
        return table_of([tuple(row.values()) for row in found.to_pylist()], case["described"], schema)
    return found


def main():
    job = read_job()
    for case in job.get("planted", []):
        Comparison(case["catalog"]).check(case["name"], case["want"], lambda schema: read(case, schema),
                                          nearly=case.get("nearly", []))
    if job.get("nights"):
        check_tables(job, "files", lambda part, table, columns, tag, schema:
                     pq.read_table(os.path.join(job["scratch"], f"{part}.{table}.parquet")).select(columns))


if __name__ == "__main__":
    sys.exit(main())
