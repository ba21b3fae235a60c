"""PyAirbyte: a declarative source, DuckDB cache.

usage: TOKEN=... airbyte_listings.py ADDRESS FOLDER

The source is a low-code manifest with a stated schema, run in this process. It requests
one page after another, because the declarative framework reads only slices of a stream
in parallel, and this list has no slices.
"""

import os
import sys

address, folder = sys.argv[1:3]
for name, value in {
    "DO_NOT_TRACK": "1",
    "AIRBYTE_OFFLINE_MODE": "1",
    "AIRBYTE_CACHE_ROOT": os.path.join(folder, "cache"),
    "AIRBYTE_LOGGING_ROOT": os.path.join(folder, "logs"),
}.items():
    os.environ.setdefault(name, value)
os.chdir(folder)  # it writes a folder .cache

import airbyte  # noqa: E402 (reads the environment above)
from airbyte.caches import DuckDBCache  # noqa: E402

TYPES = {
    "string": "id name description requirements outlet_id outlet_name website_url logo city state country "
    "channel_id channel_type placement_type",
    "integer": "min_delivery_days max_delivery_days domain_authority domain_ranking",
    "boolean": "is_featured is_indexed is_do_follow",
    "array": "prices tags example_links includes",
}


def manifest() -> dict:
    properties = {name: {"type": ["null", type_]} for type_, names in TYPES.items() for name in names.split()}
    properties["created_at"] = {"type": ["null", "string"], "format": "date-time"}
    properties["disclaimer"] = {"type": ["null", "object", "string"]}

    def parameter(name: str) -> dict:
        return {"type": "RequestOption", "inject_into": "request_parameter", "field_name": name}

    return {
        "version": "6.0.0",
        "type": "DeclarativeSource",
        "check": {"type": "CheckStream", "stream_names": ["product_listings"]},
        "spec": {"type": "Spec", "connection_specification": {
            "type": "object", "properties": {"token": {"type": "string", "airbyte_secret": True}}}},
        "streams": [{
            "type": "DeclarativeStream",
            "name": "product_listings",
            "primary_key": ["id"],
            "schema_loader": {"type": "InlineSchemaLoader", "schema": {"type": "object", "properties": properties}},
            "retriever": {
                "type": "SimpleRetriever",
                "requester": {
                    "type": "HttpRequester",
                    "url_base": address,
                    "path": "/products/listings",
                    "authenticator": {"type": "BearerAuthenticator", "api_token": "{{ config['token'] }}"},
                },
                "record_selector": {
                    "type": "RecordSelector",
                    "extractor": {"type": "DpathExtractor", "field_path": ["records"]},
                },
                "paginator": {
                    "type": "DefaultPaginator",
                    "page_token_option": parameter("page"),
                    "page_size_option": parameter("limit"),
                    "pagination_strategy": {
                        "type": "PageIncrement", "start_from_page": 1, "page_size": 100, "inject_on_first_request": True},
                },
            },
        }],
    }


def main() -> None:
    source = airbyte.get_source(
        "source-listings", config={"token": os.environ["TOKEN"]}, source_manifest=manifest(), streams="*")
    cache = DuckDBCache(db_path=os.path.join(folder, "peer.duckdb"), schema_name="listings")
    source.read(cache=cache, write_strategy="replace")  # cheaper than the merge that a key asks for


if __name__ == "__main__":
    main()
