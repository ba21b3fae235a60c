"""Compares Parquet files, in place of the results of an engine, with DuckDB. It is for the tests
of the comparison."""

import os
import sys

import pyarrow.parquet as pq

from compare import Comparison, read_job
from lake import check_tables


def main():
    job = read_job()
    for case in job.get("planted", []):
        Comparison(case["duckdb_path"]).check(case["name"], case["want"], lambda schema: pq.read_table(case["got"]),
                                          nearly=case.get("nearly", []))
    if job.get("nights"):
        check_tables(job, "files", lambda part, table, columns, tag, schema:
                     pq.read_table(os.path.join(job["scratch"], f"{part}.{table}.parquet")).select(columns))


if __name__ == "__main__":
    sys.exit(main())
