"""What all scripts that read a lake share: every table of every night beside DuckDB's."""

from compare import Comparison, say

PARTS = {"current": "main", "past": "past", "meta": "meta"}


def tables(against):
    """Tables of a version, as (part, name, SELECT). The fingerprint row_hash is no fact of a row."""
    rows = against.db.execute("""SELECT schema_name, table_name,
        list(column_name ORDER BY column_index) FILTER (column_name <> 'row_hash') FROM duckdb_columns()
        WHERE database_name = 'w' AND schema_name IN ('main', 'past', 'meta')
          AND (schema_name, table_name) IN (SELECT (schema_name, table_name) FROM duckdb_tables() WHERE database_name = 'w')
        GROUP BY ALL ORDER BY ALL""").fetchall()
    parts = {schema: part for part, schema in PARTS.items()}
    return [(parts[schema], name, columns) for schema, name, columns in rows]


def check_tables(job, engine, read, nights=None, only=None):
    """Calls read(part, table, columns, tag, schema) for each table of each night; the newest
    night has no tag."""
    newest = job["nights"][-1]
    for night in nights or job["nights"]:
        against = Comparison(night["catalog"])
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
                say(what=f"{engine}: {part}.{name} of {night['run']}", **result)
            else:
                equal += 1
        say(what=f"{engine}: {equal} tables of {'the newest night' if tag is None else 'tag ' + tag} equal", rows=rows, seconds=round(seconds, 1),
            differences=[] if rows else ["no row was compared"])
