"""What a language model costs a question: one call for the list, and one call for each pair."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from benchmarks.core.table import Table
from benchmarks.list_judge.recording import RecordedLLM, requests_of
from benchmarks.list_judge.tasks import Task
from perspective_rag import CallableLLM, LLMJudge, run
from perspective_rag.judge.cross_encoder import DEFAULT_MODEL

PRICES = Path(__file__).with_name("prices.json")
LIST, PAIRS = "one call a list", "one call a pair"


def tokens_a_question(tasks: Sequence[Task], recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Calls and tokens of a mean question by way, where all tasks were recorded; tokens are those
    of the packaged judge's vocabulary.
    """
    tokenizer = Tokenizer.from_file(str(Path(DEFAULT_MODEL) / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    requests = requests_of(tasks)
    replies = RecordedLLM(recorded, requests)
    lists = [
        (f"{each.prompt.system}\n\n{each.prompt.user}", replies.complete(each.prompt).text)
        for each in requests
    ]
    asked: list[str] = []

    def keep(prompt: str) -> str:
        asked.append(prompt)
        return "no"

    judge = LLMJudge(CallableLLM(keep))
    for each in tasks:
        run(judge.judge(each.perspectives, each.passages))
    ways = {LIST: lists, PAIRS: [(prompt, "no") for prompt in asked]}
    found: dict[str, Any] = {"passages": sum(len(each.passages) for each in tasks) / len(tasks)}
    for way, calls in ways.items():
        read, written = (
            sum(len(tokenizer.encode(text, add_special_tokens=False)) for text in texts)
            for texts in zip(*calls, strict=True)
        )
        counts = {"calls": len(calls), "in": read, "out": written}
        found[way] = {name: round(count / len(tasks), 1) for name, count in counts.items()}
    return found


def read_prices(price_in: float | None = None, price_out: float | None = None) -> dict[str, Any]:
    """The examples of ``prices.json``, or the prices given in their place."""
    kept: dict[str, Any] = json.loads(PRICES.read_text(encoding="utf-8"))
    if price_in is not None and price_out is not None:
        kept = {"date": "given", "models": {"yours": {"in": price_in, "out": price_out}}}
    return kept


def cost_table(found: Mapping[str, Any], prices: Mapping[str, Any]) -> Table:
    """Tokens a question, and cents at each price."""
    models: Mapping[str, Mapping[str, float]] = prices["models"]
    priced = [f"cents, {name}: {p['in']:g} / {p['out']:g}" for name, p in models.items()]
    table = Table(
        f"A question's tokens, and cents at dollars a million tokens in / out ({prices['date']})",
        ("set, way", "passages", "calls", "tokens in", "tokens out", *priced),
    )
    for name, own in found.items():
        for way in (LIST, PAIRS):
            each = own[way]
            cents = [(each["in"] * p["in"] + each["out"] * p["out"]) / 1e4 for p in models.values()]
            counts = (own["passages"], each["calls"], each["in"], each["out"])
            cells = [f"{count:,.0f}" for count in counts] + [f"{cent:.2f}" for cent in cents]
            table.add(f"{name}, {way}", *cells)
    return table
