"""The board's page, and the protocol: what was fitted on which set, and when it was looked at."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.board.cost import cost_table, read_prices
from benchmarks.board.scoring import COLUMNS, LISTED, LLM, LOWER, OURS, PLAIN, POINTWISE, XQUAD
from benchmarks.core.table import Table
from perspective_rag import ConfigError

PROTOCOL = Path(__file__).with_name("protocol.json")
UNTOUCHED, CROSS_FITTED, TUNED = "untouched", "cross-fitted", "tuned on"


def read_protocol() -> dict[str, Any]:
    """The protocol as it is kept."""
    kept: dict[str, Any] = json.loads(PROTOCOL.read_text(encoding="utf-8"))
    return kept


def kind_of(protocol: Mapping[str, Any], name: str) -> str:
    """What a set is to these rows, by what was fitted on it: on all of it ("all"), on folds that
    are not scored ("folds"), or only what takes no part in them ("elsewhere"). ConfigError for a
    set of which the protocol says nothing.
    """
    if name not in protocol["sets"]:
        raise ConfigError(f"{PROTOCOL.name} does not say what was fitted on {name!r}: add it there")
    how = {each["how"] for each in protocol["sets"][name]["fitted"]}
    return TUNED if "all" in how else CROSS_FITTED if "folds" in how else UNTOUCHED


def write_looked(names: Iterable[str], day: str) -> None:
    """Writes down that these sets were looked at on a day."""
    protocol = read_protocol()
    for name in names:
        days = protocol["sets"][name]["looked"]
        protocol["sets"][name]["looked"] = sorted({*days, day})
    sets = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in protocol["sets"].items()
    )
    judge = json.dumps(protocol["packaged_judge"])
    text = f'{{\n "packaged_judge": {judge},\n "sets": {{\n{sets}\n }}\n}}\n'
    PROTOCOL.write_text(text, encoding="utf-8")


def protocol_table(protocol: Mapping[str, Any]) -> Table:
    """A line for each set."""
    table = Table("Protocol", ("set", "kind", "labels by", "fitted on it", "looked at"))
    for name, each in protocol["sets"].items():
        fitted = "; ".join(f"{f['what']} ({f['how']}, {f['date']})" for f in each["fitted"])
        days = ", ".join(each["looked"])
        table.add(name, kind_of(protocol, name), each["labels"], fitted or "nothing", days)
    return table


def quality_tables(found: Mapping[str, Any]) -> list[Table]:
    """What is chosen, and what is read of whole pools: a line for each row."""
    chosen = [row for row in found["rows"] if PLAIN in row["columns"]]
    read = [row for row in found["rows"] if PLAIN not in row["columns"]]
    return [_table("What is chosen", chosen), _table("What is read", read)]


def summary_table(found: Mapping[str, Any]) -> Table:
    """What is chosen, of the sets that nothing was tuned on."""
    rows = [row for row in found["rows"] if row["kind"] != TUNED and PLAIN in row["columns"]]
    return _table("Chosen", rows, (PLAIN, XQUAD, POINTWISE, OURS, LLM))


def _table(
    title: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = COLUMNS
) -> Table:
    shown = [name for name in columns if any(name in row["columns"] for row in rows)]
    heads = ("set: measure", "kind", "questions", "date", *shown)
    table = Table(f"{title}, percent, 95% intervals over questions", (*heads, "ahead of best peer"))
    for row in rows:
        less = ", less is better" if row["measure"] in LOWER else ""
        of = row["measure"] in LISTED
        cells = [_cell(row["columns"].get(name), of=of) for name in shown]
        about = (row["kind"], str(row["count"] or "-"), row["date"] + "*" * ("from" in row))
        table.add(f"{row['set']}: {row['measure']}{less}", *about, *cells, _ahead(row["ahead"]))
    return table


def page(document: Mapping[str, Any], prices: Mapping[str, Any] | None = None) -> str:
    """All tables, and which rows are won and lost."""
    found, protocol = document["results"], read_protocol()
    ahead = {f"{r['set']}: {r['measure']}": r["ahead"] for r in found["rows"] if r["ahead"]}
    won = "; ".join(name for name, a in ahead.items() if a["low"] > 0)
    lost = "; ".join(f"{name} (to {a['of']})" for name, a in ahead.items() if a["high"] < 0)
    read = {f"{r['set']}: `{r['from']}`" for r in found["rows"] if "from" in r}
    said = [
        "Packaged ahead of every peer, by an interval that excludes 0: "
        f"{won or 'none'}. Behind the best peer by such an interval: {lost or 'none'}.\n",
        f"Dates with * are of results that are read from files: {'; '.join(sorted(read))}.\n",
    ]
    files = (document["judge"] or {}).get("files")
    if files != protocol["packaged_judge"]:
        said.append(f"The judge {files} is not the one of {PROTOCOL.name}: review it there.\n")
    cost = cost_table(found["cost"], prices or read_prices())
    tables = [*quality_tables(found), cost, protocol_table(protocol)]
    chosen, listed, *rest = (each.markdown() for each in tables)
    return "\n".join([chosen, listed, *said, *rest])


def _cell(value: Mapping[str, Any] | None, *, of: bool) -> str:
    """A mean and its interval; ``of``: and how many it is a share of."""
    if value is None or "mean" not in value:
        return "-"
    bounds = f" [{100 * value['low']:.0f}, {100 * value['high']:.0f}]" if "low" in value else ""
    count = f" of {sum(map(float, value['wholes'].split())):.0f}" if of else ""
    return f"{100 * value['mean']:.1f}{bounds}{count}"


def _ahead(ahead: Mapping[str, Any] | None) -> str:
    if ahead is None:
        return "-"
    mean, low, high = (100 * ahead[name] for name in ("mean", "low", "high"))
    return f"{mean:+.1f} [{low:+.0f}, {high:+.0f}] ({ahead['of']})"
