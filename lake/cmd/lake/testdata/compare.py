# Reads every table of every night in a lake with PyIceberg, and compares all columns with the
# Parquet files of the night's version. Prints the number of compared tables.
#
# Usage: compare.py VERSIONS PROPERTIES
# VERSIONS is the folder of versions. PROPERTIES are the properties of the catalog as JSON.
import glob
import json
import os
import sys

import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog

versions, properties = sys.argv[1:]
catalog = SqlCatalog("placementsync", **json.loads(properties))
compared = 0
for run in sorted(os.listdir(versions)):
    for file in sorted(glob.glob(f"{versions}/{run}/*.parquet")):
        name = os.path.basename(file).removesuffix(".parquet")
        table = catalog.load_table(("placements_current", name))
        snapshot = table.snapshot_by_name(f"run_{run}")
        got = table.scan(snapshot_id=snapshot.snapshot_id).to_arrow().to_pylist()
        want = pq.read_table(file).to_pylist()
        if sorted(map(repr, got)) != sorted(map(repr, want)):
            sys.exit(f"{name} of {run} differs: {len(got)} rows, want {len(want)}")
        compared += 1
print(compared)
