"""SQL text: identifiers, literals, and user expressions over one row.

Invariant: a text without `expression_faults` is one scalar expression: no query, window,
aggregate, second statement or comment hides in it, because DuckDB's own parser says so and not a
search for words; and a column is meant only by its exact name. Pinned by `tests/test_tables.py`.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import duckdb

NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
INFINITE = r"[+-]?(?i:inf(inity)?)"
MISSING = r"\s*(?i:nan)?\s*"

NUM = f"""
CREATE MACRO num(x) AS CASE
    WHEN x IS NULL OR regexp_full_match(CAST(x AS VARCHAR), '{MISSING}') THEN NULL
    WHEN regexp_full_match(trim(CAST(x AS VARCHAR)), '({NUMBER})|({INFINITE})')
    THEN CAST(x AS DOUBLE)
    ELSE error(printf('num(''%s''): not a number', CAST(x AS VARCHAR))) END
"""

TOKEN = re.compile(
    r"""[eE]'(?:\\.|''|[^'\\])*'        # text with escapes
    | '(?:[^']|'')*' | \$\$.*?\$\$      # text
    | "(?:[^"]|"")*"                    # quoted identifier
    | --[^\n]* | /\*.*?(?:\*/|$)        # comment
    | \w+                               # word or number
    """,
    re.VERBOSE | re.DOTALL,
)
CALL = re.compile(r"\s*\(")
# Words with a meaning inside an expression: a column called so must be quoted there
KEYWORDS = frozenset(
    [
        *("and", "as", "between", "case", "cast", "collate", "distinct", "else", "end", "escape"),
        *("false", "from", "glob", "ilike", "in", "is", "isnull", "like", "not", "notnull"),
        *("null", "or", "similar", "then", "to", "true", "try_cast", "when"),
    ]
)
REFUSED = {
    "SUBQUERY": "a query",
    "WINDOW": "a window function",
    "STAR": "a choice of several columns",
    "PARAMETER": "a parameter",
    "POSITIONAL_REFERENCE": "a column by its place",
}
UNNESTING = frozenset({"unnest", "unlist", "generate_subscripts"})
AMBIENT = frozenset({"current_time", "current_timestamp", "localtime", "localtimestamp", "age/1"})


def quote(name: str) -> str:
    """A column's name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def first_line(error: Exception) -> str:
    """The first line of a DuckDB error; the rest points into SQL that the user never wrote."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def sql_names(columns: Sequence[str]) -> dict[str, str]:
    """A name for each column that stays unique when case is folded.

    Examples
    --------
    >>> sql_names(["item", "logprob_m", "logprob_M"])
    {'item': 'item', 'logprob_m': 'logprob_m#1', 'logprob_M': 'logprob_M#2'}
    """
    folded = Counter(column.casefold() for column in columns)
    taken = {fold for fold, count in folded.items() if count == 1}
    found = {}
    for place, column in enumerate(columns):
        name = column
        if folded[column.casefold()] > 1:
            name = f"{column}#{place}"
            while name.casefold() in taken:
                name += "#"
            taken.add(name.casefold())
        found[column] = name
    return found


def with_columns(text: str, named: Mapping[str, str]) -> str:
    """An expression in which each column's exact name is its SQL identifier.

    Examples
    --------
    >>> print(with_columns("case order when 'm' then num(m) end", {"order": "order", "m": "m#1"}))
    case "order" when 'm' then num("m#1") end
    """

    def swap(match: re.Match[str]) -> str:
        word = match[0]
        if word.startswith('"'):
            name = word[1:-1].replace('""', '"')
        elif word[0].isdigit() or word.lower() in KEYWORDS or CALL.match(text, match.end()):
            return word
        else:
            name = word
        return quote(named[name]) if name in named else word

    return TOKEN.sub(swap, text)


def expression_faults(
    connection: duckdb.DuckDBPyConnection, text: str, known: Collection[str]
) -> list[str]:
    """What keeps a text from being one scalar expression over one row, in words.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    text : str
        As `with_columns` returns it.
    known : collection of str
        The columns' SQL names. DuckDB folds case, so it would read another spelling of one as
        that column without a word.
    """
    if any(token[0].startswith(("--", "/*")) for token in TOKEN.finditer(text)):
        return ["a comment may not stand in it"]
    try:
        parsed, plain = _parse(connection, text), _parse(connection, "1")
    except RecursionError:
        return ["it is nested too deeply"]
    if parsed["error"]:
        hint = "put a column called like an SQL word in double quotes"
        return [f"{parsed['error_message']} ({hint})"]
    volatile = _volatile(connection)
    node, bare = (tree["statements"][0]["node"] for tree in (parsed, plain))
    selected = node.get("select_list", ())
    listed = len(selected) != 1 or selected[0].get("function_name") == "row"
    if listed or _frame(node) != _frame(bare):
        return ["expected one expression, not a query or a list"]
    aggregates = _aggregates(connection)
    parts = list(_walk(selected))
    faults = [fault for part in parts for fault in _part_faults(part, known, aggregates)]
    faults += [fault for part in parts for fault in _changing(part, known, volatile)]
    return list(dict.fromkeys(faults))


def _parse(connection: duckdb.DuckDBPyConnection, text: str) -> dict[str, Any]:
    """DuckDB's syntax tree of an expression, wrapped as it will be used."""
    row = connection.execute("SELECT json_serialize_sql(?)", [f"SELECT (\n{text}\n)"]).fetchone()
    assert row is not None
    tree: dict[str, Any] = json.loads(row[0])
    return tree


def _frame(node: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in node.items() if key != "select_list"}


def _walk(tree: object) -> Iterator[dict[str, Any]]:
    """Every object of a syntax tree."""
    stack = [tree]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            yield part
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)


def _aggregates(connection: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Functions that read many rows and have no form that reads one."""
    rows = connection.execute(
        "SELECT function_name FROM duckdb_functions() "
        "GROUP BY function_name HAVING bool_and(function_type = 'aggregate')"
    ).fetchall()
    return frozenset(name for (name,) in rows)


def _volatile(connection: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Functions whose value depends on more than what they are given: chance, time, state."""
    rows = connection.execute(
        "SELECT function_name, macro_definition, stability, len(parameters) = 0 "
        "FROM duckdb_functions() WHERE function_type IN ('scalar', 'macro')"
    ).fetchall()
    inner = {"getvariable", "current_setting", "in_search_path", *AMBIENT}
    inner |= {name for name, _, stability, _ in rows if stability == "VOLATILE"}
    inner |= {name for name, _, kind, bare in rows if bare and kind == "CONSISTENT_WITHIN_QUERY"}
    inner -= {"error"}  # it ends the query
    macros = ((name, re.findall(r"\w+", text)) for name, text, _, _ in rows if text)
    return frozenset(inner | {name for name, words in macros if not inner.isdisjoint(words)})


def _changing(
    part: Mapping[str, Any], known: Collection[str], volatile: Collection[str]
) -> Iterator[str]:
    """What in a part of an expression gives another value another time."""
    kind = part.get("class")
    if kind == "FUNCTION":
        name = str(part["function_name"]).lower()
        given = part.get("arguments", part.get("children", ()))  # by version of DuckDB
        if name in volatile or f"{name}/{len(given)}" in volatile:
            yield f"{name}() gives another value another time; a column depends on its row alone"
    elif kind == "COLUMN_REF" and len(part["column_names"]) == 1:
        name = part["column_names"][0]
        if name.lower() in volatile and name.casefold() not in map(str.casefold, known):
            yield f"{name} gives another value another time; a column depends on its row alone"


def _part_faults(
    part: Mapping[str, Any], known: Collection[str], aggregates: Collection[str]
) -> Iterator[str]:
    kind = part.get("class")
    if kind in REFUSED:
        yield f"{REFUSED[kind]} may not stand in it"
    elif kind == "FUNCTION":
        name = str(part["function_name"]).lower()
        if name in aggregates:
            yield f"{name}() reads many rows"
        if name in UNNESTING:
            yield f"{name}() makes many rows"
    elif kind == "COLUMN_REF":
        name = next((word for word in part["column_names"] if word != "rows"), "")
        spelt = [column for column in known if column.casefold() == name.casefold()]
        if spelt and name not in spelt:
            yield f"no column {name!r} (did you mean {spelt[0]!r}?)"
