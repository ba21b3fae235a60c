"""Computes the views of mart in Spark, over the Parquet files of each case."""

import os
import sys

from pyspark.sql import SparkSession

from compare import Comparison, read_job, print_result


def start(job):
    builder = (SparkSession.builder.master("local[2]").appName("placementsync")
               .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").config("spark.sql.shuffle.partitions", "2")
               .config("spark.driver.memory", "3g").config("spark.driver.bindAddress", "127.0.0.1")
               .config("spark.driver.host", "127.0.0.1").config("spark.sql.session.timeZone", job.get("timezone", "UTC"))
               .config("spark.sql.warehouse.dir", os.path.join(job["scratch"], "spark-warehouse")))
    for key, value in job.get("spark", {}).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def load(spark, case):
    for part in ("current", "past", "meta"):
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS {case['prefix']}_{part}")
    for table in case["tables"]:
        spark.sql(f"CREATE TABLE {case['prefix']}_{table['part']}.{table['name']} USING parquet LOCATION '{table['path']}'")
    for statement in case["views"]:
        spark.sql(statement)


def check(spark, case):
    against = Comparison(case["duckdb_path"])
    for view in case.get("marts", []):
        against.check(f"{case['name']}: mart {view['name']}", f"SELECT * FROM mart.{view['name']}",
                      lambda _: spark.table(f"{case['view_namespace']}.{view['name']}").toArrow(), nearly=view.get("nearly", []))


def main():
    job = read_job()
    spark = start(job)
    print_result(version=f"Spark {spark.version}")
    for case in job["cases"]:
        load(spark, case)
        check(spark, case)
    spark.stop()


if __name__ == "__main__":
    sys.exit(main())
