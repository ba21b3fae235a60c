"""Reads a lake with Spark: every table of every night, then the views."""

import sys

from compare import read_job, print_result
from lake import check_tables
from spark_sql import check, start


def main():
    job = read_job()
    spark = start(job)
    name = job["catalog_kind"]
    print_result(version=f"{name}: Spark {spark.version}")

    def read(part, table, columns, tag, _):
        version = f" VERSION AS OF '{tag}'" if tag else ""
        chosen = ", ".join(f"`{c}`" for c in columns)
        return spark.sql(f"SELECT {chosen} FROM {job['lake_catalog']}.{job['prefix']}_{part}.{table}{version}").toArrow()

    check_tables(job, name, read)
    for case in job["cases"]:
        for statement in case["views"]:
            spark.sql(statement)
        check(spark, case)
        # A view with the SQL of another engine cannot be replaced.
        for view in reversed(case["marts"]):
            spark.sql(f"DROP VIEW {case['view_namespace']}.{view['name']}")
    spark.stop()


if __name__ == "__main__":
    sys.exit(main())
