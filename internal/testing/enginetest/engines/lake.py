"""Compares every table of every night of a lake with DuckDB, for all scripts that read a lake."""

from compare import Comparison, print_result

PARTS = {"current": "main", "past": "past", "meta": "meta"}


def tables(against):
    """Tables of a version, as (part, name, columns). row_hash is left out, because it is
    unsigned in DuckDB and signed in a lake."""
    rows = against.db.execute("""SELECT schema_name, table_name,
        list(column_name ORDER BY column_index) FILTER (column_name <> 'row_hash') FROM duckdb_columns()
        WHERE database_name = 'w' AND schema_name IN ('main', 'past', 'meta')
          AND (schema_name, table_name) IN (SELECT (schema_name, table_name) FROM duckdb_tables() WHERE database_name = 'w')
        GROUP BY ALL ORDER BY ALL""").fetchall()
    parts = {schema: part for part, schema in PARTS.items()}
    return [(parts[schema], name, columns) for schema, name, columns in rows]


def check_tables(job, engine, read, nights=None, only=None):
    """Calls read(part, table, columns, tag, schema) for each table of each night, and compares
    the results. tag is None for the newest night."""
    newest = job["nights"][-1]
    for night in nights or job["nights"]:
        against = Comparison(night["duckdb_path"])
        tag = None if night is newest else "run_" + night["run"]
        equal, rows, seconds = 0, 0, 0.0
        for part, name, columns in tables(against):
            if only and (part, name) not in only:
                continue
            quoted = ", ".join(f'"{c}"' for c in columns)
            result = against.compare(f"SELECT {quoted} FROM {PARTS[part]}.\"{name}\"",
                                     lambda schema: read(part, name, columns, tag, schema))
            rows, seconds = rows + result["rows"], seconds + result["seconds"]
            if result["differences"]:
                print_result(what=f"{engine}: {part}.{name} of {night['run']}", **result)
            else:
                equal += 1
        print_result(what=f"{engine}: {equal} tables of {'the newest night' if tag is None else 'tag ' + tag} equal", rows=rows, seconds=round(seconds, 1),
            differences=[] if rows else ["no row was compared"])
