"""dlt: the rest_api source, Parquet loader files, DuckDB.

usage: TOKEN=... dlt_listings.py ADDRESS FOLDER

The settings follow dlt's page "Optimizing dlt" for a list with pages: whole pages are
yielded (the rest_api source does), orjson is installed, the normalizer has a process
for each core and files small enough for all processes to have work, columns have hints,
and loader files are Parquet. With "parallelized" it extracts in a separate thread, but
still requests one page of a resource after another.
"""

import os
import sys

address, folder = sys.argv[1:3]
for name, value in {
    "RUNTIME__DLTHUB_TELEMETRY": "false",
    "RUNTIME__LOG_LEVEL": "ERROR",
    "NORMALIZE__WORKERS": str(os.cpu_count()),
    # A file of 20,000 records keeps two processes busy from 40,000 records on.
    "DATA_WRITER__BUFFER_MAX_ITEMS": "5000",
    "DATA_WRITER__FILE_MAX_ITEMS": "20000",
}.items():
    os.environ.setdefault(name, value)

import dlt  # noqa: E402 (reads the environment above)
from dlt.sources.rest_api import rest_api_source  # noqa: E402

TYPES = {
    "text": "id name description requirements outlet_id outlet_name website_url logo city state country "
    "channel_id channel_type placement_type",
    "bigint": "min_delivery_days max_delivery_days domain_authority domain_ranking",
    "bool": "is_featured is_indexed is_do_follow",
    "timestamp": "created_at",
}


def main() -> None:
    columns = {name: {"data_type": type_} for type_, names in TYPES.items() for name in names.split()}
    source = rest_api_source({
        "client": {"base_url": address, "auth": {"type": "bearer", "token": os.environ["TOKEN"]}},
        "resources": [{
            "name": "product_listings",
            "columns": columns,
            "parallelized": True,
            "endpoint": {
                "path": "products/listings",
                "params": {"limit": 100},
                "data_selector": "records",
                "paginator": {"type": "page_number", "base_page": 1, "page_param": "page", "total_path": "total_pages"},
            },
        }],
    })
    pipeline = dlt.pipeline(
        "listings",
        pipelines_dir=os.path.join(folder, "state"),
        dataset_name="listings",
        destination=dlt.destinations.duckdb(os.path.join(folder, "peer.duckdb")),
    )
    pipeline.run(source, loader_file_format="parquet", write_disposition="replace").raise_on_failed_jobs()


if __name__ == "__main__":
    main()
