"""Compares the results of an engine with the data in DuckDB, row by row and value by value.

A job is a JSON file that the Go test wrote. Each comparison prints a line of JSON to standard
output: its name, the number of rows, the time in the engine and the differences.
"""

import datetime
import decimal
import json
import re
import sys
import time

import duckdb
import pyarrow as pa

SHOWN = 5  # maximum number of printed differences of a result


def read_job():
    with open(sys.argv[1]) as file:
        return json.load(file)


def print_result(**result):
    print(json.dumps(result), flush=True)


class Comparison:
    """Compares results with those of DuckDB, which are in a catalog."""

    def __init__(self, catalog=None):
        self.db = duckdb.connect()
        self.db.execute("SET TimeZone = 'UTC'")
        if catalog:
            quoted = catalog.replace("'", "''")
            self.db.execute(f"ATTACH '{quoted}' AS w (READ_ONLY); USE w")

    def check(self, what, want, ask, **how):
        """Compares the result of the function ask with that of the SELECT want, and prints the
        differences."""
        print_result(what=what, **self.compare(want, ask, **how))

    def compare(self, want, ask, nearly=()):
        """Columns named in nearly are floats whose last digits depend on the order of an
        addition. They are compared to nine digits."""
        begun = time.monotonic()
        try:
            got = ask(self.arrow_schema(want))
        except Exception as problem:  # every error is a difference
            return {"rows": 0, "seconds": 0, "differences": [f"the engine failed: {str(problem)[:2000]}"]}
        seconds = time.monotonic() - begun
        return {"rows": got.num_rows, "seconds": round(seconds, 3), "differences": self.differences(want, got, nearly)}

    def arrow_schema(self, want):
        return self.db.sql(f"SELECT * FROM ({want}) LIMIT 0").to_arrow_table().schema

    def differences(self, want, got, nearly):
        self.db.register("got", got)
        expected, found = self.columns(want), self.columns("SELECT * FROM got")
        if [name for name, _ in expected] != [name for name, _ in found]:
            return [f"columns {found}, want {expected}"]
        wrong = [f"column {name} is {is_}, want {want_}"
                 for (name, want_), (_, is_) in zip(expected, found) if family(want_) != family(is_)]
        if wrong:
            return wrong
        self.db.execute(f"CREATE OR REPLACE TEMP TABLE want AS SELECT row_number() OVER () AS row__, * FROM ({want})")
        chosen = ", ".join(f'CAST("{name}" AS {kind}) AS "{name}"' for name, kind in expected)
        self.db.execute(f"CREATE OR REPLACE TEMP TABLE have AS SELECT row_number() OVER () AS row__, {chosen} FROM got")
        names = [name for name, _ in expected]
        return self.by_value(names, nearly)

    def columns(self, select):
        return [(row[0], row[1]) for row in self.db.execute(f"DESCRIBE {select}").fetchall()]

    def by_value(self, names, nearly):
        """Compares the rows in any order. Rows that the other result lacks are sorted, and
        compared at the same place."""
        exact = ", ".join(f'"{name}"' for name in names if name not in nearly)
        order = ", ".join(f'"{name}"' for name in [n for n in names if n not in nearly] + list(nearly))
        if nearly:
            for table in ("want", "have"):
                self.db.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT * REPLACE (row_number() OVER (ORDER BY {order}) AS row__) FROM {table}")
            return self.pairs("want", "have", names, nearly)
        self.db.execute(f"""CREATE OR REPLACE TEMP TABLE lacking AS
            SELECT row_number() OVER (ORDER BY {order}) AS row__, * FROM (SELECT {exact} FROM want EXCEPT ALL SELECT {exact} FROM have);
            CREATE OR REPLACE TEMP TABLE surplus AS
            SELECT row_number() OVER (ORDER BY {order}) AS row__, * FROM (SELECT {exact} FROM have EXCEPT ALL SELECT {exact} FROM want)""")
        return self.pairs("lacking", "surplus", names, nearly)

    def pairs(self, want, have, names, nearly):
        unequal = " OR ".join(
            f"(w.\"{n}\" IS DISTINCT FROM h.\"{n}\" AND coalesce(abs(w.\"{n}\" - h.\"{n}\") > 1e-9 * greatest(1, abs(w.\"{n}\")), true))"
            if n in nearly else f"w.\"{n}\" IS DISTINCT FROM h.\"{n}\"" for n in names)
        left, right = (", ".join(f'{side}."{n}"' for n in names) for side in "wh")
        query = f"""FROM {want} AS w FULL JOIN {have} AS h USING (row__)
            WHERE w.row__ IS NULL OR h.row__ IS NULL OR {unequal}"""
        count = self.db.execute(f"SELECT count(*) {query}").fetchone()[0]
        rows = self.db.execute(f"SELECT row__, w.row__ IS NULL, h.row__ IS NULL, {left}, {right} {query} ORDER BY row__ LIMIT {SHOWN}").fetchall()
        lines = [describe(row, names) for row in rows]
        return lines + ([f"{count - SHOWN} more"] if count > SHOWN else [])


def describe(row, names):
    place, no_want, no_have, values = row[0], row[1], row[2], row[3:]
    want, have = values[:len(names)], values[len(names):]
    if no_want or no_have:
        side, shown = ("only the engine has", have) if no_want else ("only DuckDB has", want)
        return f"row {place}: {side}: " + ", ".join(f"{n}={v!s:.60}" for n, v in zip(names, shown))
    key = ", ".join(f"{n}={w!s:.60}" for n, w in list(zip(names, want))[:3])
    unlike = "; ".join(f"column {n} is {h!r}, want {w!r}" for n, w, h in zip(names, want, have) if w != h)
    return f"row {place} ({key}): {unlike}"


def family(kind):
    """The part of a type that must be equal: the kind of value, and the scale of a decimal."""
    if kind.startswith("DECIMAL"):
        return "DECIMAL scale " + kind.rstrip(")").split(",")[1].strip()
    if kind in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UBIGINT", "UINTEGER"):
        return "INTEGER"
    return {"JSON": "VARCHAR"}.get(kind, kind)


def table_of(rows, described, schema):
    """Converts the rows of a client to Arrow. described contains the client's name and type of
    each column. A column that differs from the schema, and a value that does not fit its type
    exactly, are errors."""
    if [name for name, _ in described] != schema.names:
        raise ValueError(f"columns {[name for name, _ in described]}, want {schema.names}")
    for (name, kind), field in zip(described, schema):
        if not fits(kind, field.type):
            raise ValueError(f"column {name} is {kind}, want {field.type}")
    columns = []
    for i, field in enumerate(schema):
        columns.append(pa.array([plain(row[i], field.type) for row in rows], type=field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def fits(kind, wanted):
    """Whether a type of Trino matches one of Arrow, with the scale of a decimal."""
    if pa.types.is_decimal(wanted):
        scale = re.fullmatch(r"decimal\(\d+, *(\d+)\)", kind)
        return int(scale[1]) == wanted.scale if scale else wanted.scale == 0 and kind in INTEGERS
    if pa.types.is_timestamp(wanted):
        return kind.startswith("timestamp") and kind.endswith("with time zone") == (wanted.tz is not None)
    for is_kind, names in ((pa.types.is_integer, INTEGERS), (pa.types.is_floating, ("double", "real")), (pa.types.is_boolean, ("boolean",)),
                           (pa.types.is_date, ("date",)), (pa.types.is_string, ("varchar", "char", "json")), (pa.types.is_list, ("array",))):
        if is_kind(wanted):
            return kind.split("(")[0] in names
    return True  # other types are checked by their values


INTEGERS = ("tinyint", "smallint", "integer", "bigint")


def plain(value, kind):
    if value is None:
        return None
    if isinstance(value, datetime.datetime) and value.tzinfo is None and pa.types.is_timestamp(kind) and kind.tz:
        raise ValueError(f"{value} has no time zone")
    if pa.types.is_decimal(kind) and isinstance(value, int):
        return decimal.Decimal(value)
    if pa.types.is_floating(kind) and not isinstance(value, float):
        raise ValueError(f"{value!r} is not a float")
    return value
