"""A whole PIR run, its retrievers, its analyses, and what is made of the results."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys

import numpy as np
import pytest
from rich.console import Console

from benchmarks.core import results
from benchmarks.core.results import CHECKOUT, read, write
from benchmarks.core.table import Table
from benchmarks.pir.command import main
from benchmarks.pir.embedding import AT_ONCE, Vectors
from benchmarks.pir.extraction import (
    extraction_scores,
    jaccard,
    llm_extractor,
    rule_extractor,
    token_f1,
)
from benchmarks.pir.figures import main as draw
from benchmarks.pir.methods import METHODS, PUBLISHED_METHODS
from benchmarks.pir.published import TABLE_2, TABLE_8, TABLE_9, TASKS
from benchmarks.pir.report import sections
from benchmarks.pir.retrievers import Choices, load_retriever
from perspective_rag import CallableLLM, ConfigError, MissingDependency
from perspective_rag.maths.vectors import normalised
from tests.benchmarks.pir_samples import (
    CORPUS,
    Counted,
    letter_retriever,
    letters,
    sample_task,
    write_json,
    write_jsonl,
)
from tests.contract import openai_server as fake


def quiet():
    return Console(file=io.StringIO(), width=160)


@pytest.fixture
def demo(tmp_path):
    """A folder with a small task under each of the paper's names."""
    folder = tmp_path / "pir_demo"
    folder.mkdir()
    for name in TASKS:
        write_json(folder / f"{name}.json")
    values = json.loads((folder / "agnews.json").read_text())
    values["perspectives"][0] = "a news article happened in Peru"
    (folder / "agnews.json").write_text(json.dumps(values))
    values = json.loads((folder / "allsides.json").read_text())
    values["query_labels"] = ["left", "right", "left", "center", "left"]
    (folder / "allsides.json").write_text(json.dumps(values))
    return folder


def run(tmp_path, demo, *arguments, retriever=None):
    out = tmp_path / "results" / "pir-sample.json"
    cache = tmp_path / "cache"
    given = ["--data", str(demo), "--out", str(out), "--cache", str(cache), "--resamples", "50"]
    assert main([*given, *arguments], retriever=retriever, console=quiet()) == 0
    return read(out)


def test_a_run_measures_every_method_and_a_second_one_embeds_nothing(tmp_path, demo):
    counted = Counted()
    first = run(tmp_path, demo, retriever=letter_retriever(counted))
    embedded = counted.texts
    assert embedded > 0
    second = run(tmp_path, demo, retriever=letter_retriever(counted))
    assert counted.texts == embedded
    assert second["results"] == first["results"]
    group = first["results"]["groups"]["pir_demo"]
    assert list(group["average"]) == list(METHODS)
    assert first["data"]["pir_demo"]["story"] == group["tasks"]["story"]["fingerprint"]


def test_a_run_that_was_cut_off_keeps_what_it_embedded(tmp_path):
    task = sample_task()
    counted = Counted()

    def fails_on_passages(texts):
        if CORPUS[0] in texts:
            raise RuntimeError("the power went out")
        return counted(texts)

    first = Vectors(letter_retriever(fails_on_passages), tmp_path)
    with pytest.raises(RuntimeError):
        first.of(task)
    first.close()
    asked = counted.texts
    found = Vectors(letter_retriever(counted), tmp_path).of(task)
    assert counted.texts - asked == len(CORPUS)
    assert found.corpus == pytest.approx(letters(CORPUS), abs=1e-6)
    assert found.roots == pytest.approx(letters([q.root for q in task.queries]), abs=1e-6)


def test_other_models_do_not_share_vectors(tmp_path):
    task = sample_task()
    Vectors(letter_retriever(), tmp_path).of(task)
    other = Vectors(letter_retriever(lambda texts: 2 * letters(texts), "twice"), tmp_path).of(task)
    assert other.corpus == pytest.approx(2 * letters(CORPUS), abs=1e-5)


KILLED = """
import os, signal, sys
from pathlib import Path
from benchmarks.pir.command import main
from tests.benchmarks.pir_samples import Counted, letter_retriever

class Dies(Counted):
    def __call__(self, texts):
        if "document 99" in texts:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(texts)

main(sys.argv[1:], retriever=letter_retriever(Dies()))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system knows no SIGKILL")
def test_a_run_that_was_killed_goes_on_from_what_it_embedded(tmp_path):
    task = write_jsonl(tmp_path / "mine.jsonl")
    with task.open("a", encoding="utf-8") as file:
        for i in range(100):
            file.write(json.dumps({"kind": "doc", "id": i, "text": f"document {i}"}) + "\n")
    cache = str(tmp_path / "cache")
    given = ["--data", str(task), "--cache", cache, "--out", str(tmp_path / "killed.json")]
    killed = subprocess.run([sys.executable, "-c", KILLED, *given], cwd=CHECKOUT, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "killed.json").exists()
    counted = Counted()
    document = run(tmp_path, task, retriever=letter_retriever(counted))
    # Queries, roots, perspectives, kinds and the first documents were kept.
    assert counted.texts == len(CORPUS) + 100 - AT_ONCE
    untouched = run(tmp_path, task, "--cache", str(tmp_path / "new"), retriever=letter_retriever())
    assert document["results"] == untouched["results"]


def test_a_model_that_cannot_be_had_is_said_in_a_line(tmp_path, demo):
    def unreachable(texts):
        raise OSError("no connection to the hub")

    console = quiet()
    given = ["--data", str(demo), "--out", str(tmp_path / "o.json"), "--cache", str(tmp_path)]
    assert main(given, retriever=letter_retriever(unreachable), console=console) == 2
    said = " ".join(console.file.getvalue().split())
    assert "no connection to the hub" in said
    assert "--model FOLDER" in said


def test_an_encoder_without_torch_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingDependency, match="pip install"):
        load_retriever("simcse-sup").embedder.embed_queries(["bees"])


def test_an_embedding_server_is_a_retriever(tmp_path):
    pytest.importorskip("openai")

    def embeds(body, _):
        rows = enumerate(letters(body["input"]).tolist())
        data = [{"object": "embedding", "index": i, "embedding": row} for i, row in rows]
        return 200, {"object": "list", "data": data, "model": body["model"], "usage": {}}

    task = write_jsonl(tmp_path / "mine.jsonl")
    given = ["--retriever", "openai:letters-1", "--base-url"]
    with fake.OpenAIServer(embeds) as server:
        document = run(tmp_path, task, *given, server.url)
        asked = len(server.bodies)
        assert {body["model"] for body in server.bodies} == {"letters-1"}
        assert run(tmp_path, task, *given, server.url)["results"] == document["results"]
        assert len(server.bodies) == asked  # kept by model and text
    units = letter_retriever(lambda texts: normalised(letters(texts)))
    own = run(tmp_path, task, "--cache", str(tmp_path / "own"), retriever=units)
    assert own["results"]["groups"] == document["results"]["groups"]


def test_a_trial_on_a_few_roots_keeps_the_corpus_and_replaces_no_results(
    tmp_path, demo, monkeypatch
):
    document = run(tmp_path, demo, "--limit", "1", retriever=letter_retriever())
    task = document["results"]["groups"]["pir_demo"]["tasks"]["story"]
    assert (task["roots"], task["queries"], task["documents"]) == (1, 2, len(CORPUS))
    monkeypatch.setattr(results, "RESULTS", tmp_path / "written")
    mine = tmp_path / "my tasks"
    mine.mkdir()
    write_jsonl(mine / "mine.jsonl")
    rest = ["--cache", str(tmp_path / "cache"), "--resamples", "50", "--retriever", "bm25"]
    assert main(["--data", str(demo), *rest], console=quiet()) == 0
    assert main(["--data", str(demo), "--limit", "2", *rest], console=quiet()) == 0
    assert main(["--data", str(mine), *rest], console=quiet()) == 0
    names = {path.name for path in (tmp_path / "written").iterdir()}
    assert names == {"pir-bm25.json", "pir-bm25-first-2.json", "pir-bm25-my-tasks.json"}
    assert "bm25-first-2" not in sections(tmp_path / "written")["pir-retrievers"]


def test_the_published_reading_reaches_the_results(tmp_path, demo):
    document = run(tmp_path, demo, "--as-published", retriever=letter_retriever())
    assert all(document["config"]["reading"].values())
    tasks = document["results"]["groups"]["pir_demo"]["tasks"]
    # The third root has one query, which scores 0 whatever was found.
    assert tasks["story"]["methods"]["none"]["p_recall"]["10"]["mean"] == pytest.approx(2 / 3)
    plain = run(tmp_path, demo, retriever=letter_retriever())
    found = plain["results"]["groups"]["pir_demo"]["tasks"]["story"]
    assert found["methods"]["none"]["p_recall"]["10"]["mean"] == 1.0


@pytest.mark.parametrize("name", ["bm25", "bm25-okapi"])
def test_bm25_finds_words(tmp_path, demo, name):
    pytest.importorskip("rank_bm25")
    retriever = load_retriever(name)
    scores = retriever.score(CORPUS, ["pollinate orchards", "Tolls"])
    assert np.argmax(scores[0]) == 2
    assert np.argmax(scores[1]) == 1
    document = run(tmp_path, demo, "--retriever", name)
    assert list(document["results"]["groups"]["pir_demo"]["average"]) == ["none"]


def test_okapi_keeps_case_and_punctuation_as_published():
    pytest.importorskip("rank_bm25")
    okapi = load_retriever("bm25-okapi").score
    words = load_retriever("bm25").score
    assert not okapi(CORPUS, ["tolls"]).any()
    assert words(CORPUS, ["tolls!"]).any()


def test_names_of_retrievers_are_checked():
    with pytest.raises(ConfigError, match="did you mean 'contriever'"):
        load_retriever("contreiver")
    with pytest.raises(ConfigError, match="neither st:MODEL nor openai:MODEL"):
        load_retriever("hf:something")
    with pytest.raises(ConfigError, match="DPR has no pooling but 'pooler'"):
        load_retriever("dpr", Choices(pooling="mean"))


def test_pooling_is_part_of_a_retrievers_name():
    own = load_retriever("contriever").name
    published = load_retriever("contriever", Choices(pooler_output=True)).name
    assert own != published


def test_instructed_retrievers_put_the_perspective_before_the_root():
    query = sample_task().queries[0]
    tart = load_retriever("tart-dual").query_text(query)
    assert tart == "a text that supports this [SEP] Bridge tolls are right"
    instructor = load_retriever("instructor-base").query_text(query)
    assert instructor.split("\x1f") == [query.perspective, query.root]


def test_jaccard_and_token_f1_by_hand():
    assert jaccard("the claim that opposes", ["claim opposes it"]) == pytest.approx(2 / 4)
    assert token_f1("the claim that opposes", ["claim opposes it"]) == pytest.approx(4 / 6)
    assert token_f1("bees bees", ["bees"]) == pytest.approx(2 / 3)  # F1 counts words
    assert jaccard("bees bees", ["bees"]) == 1.0  # the Jaccard index does not
    assert jaccard("x", ["y", "x"]) == token_f1("x", ["y", "X."]) == 1.0
    assert token_f1("", ["bees"]) == 0.0


def test_extraction_by_rule_and_by_model_is_scored():
    task = sample_task()
    by_rule = extraction_scores(task, rule_extractor(), seed=1)
    assert by_rule.queries == 5
    assert by_rule.found == 1.0
    assert 0.5 < by_rule.token_f1 < 1.0

    def reply(prompt):
        request = prompt.rpartition("Request: ")[2]
        verb = "opposes" if "opposes" in request else "supports"
        text = f"a text that {verb} this"
        return json.dumps({"root": "r", "perspectives": [{"text": text}]})

    by_model = extraction_scores(task, llm_extractor(CallableLLM(reply)), seed=1)
    assert by_model.jaccard == by_model.token_f1 == 1.0
    assert by_model.degradations == 0
    broken = extraction_scores(task, llm_extractor(CallableLLM(lambda prompt: "")), seed=1)
    assert broken.degradations == 5
    assert broken.token_f1 == 0.0
    assert extraction_scores(task, rule_extractor(), seed=1, size=2).queries == 2


def test_the_command_asks_a_model_for_perspectives_and_keeps_its_replies(tmp_path):
    pytest.importorskip("openai")

    def reply(body, _):
        verb = "opposes" if "opposes" in body["messages"][-1]["content"] else "supports"
        text = f"a text that {verb} this"
        return fake.chat(json.dumps({"root": "r", "perspectives": [{"text": text}]}))

    task = write_jsonl(tmp_path / "mine.jsonl")
    with fake.OpenAIServer(reply) as server:
        given = ["--extract", "org/tiny", "--base-url", server.url]
        first = run(tmp_path, task, *given)
        asked = len(server.bodies)
        assert run(tmp_path, task, *given)["results"] == first["results"]
        assert len(server.bodies) == asked > 0
    # A server that is down is no model that finds nothing.
    dead = ["--data", str(task), "--extract", "other", "--base-url", server.url]
    place = ["--out", str(tmp_path / "none.json"), "--cache", str(tmp_path / "c2")]
    assert main([*dead, *place], console=quiet()) == 2
    assert not (tmp_path / "none.json").exists()
    [group] = first["results"]["extraction"].values()
    assert group["mine"]["jaccard"] == group["mine"]["token_f1"] == 1.0
    assert first["config"]["extractor"] == "org/tiny"


def test_sections_and_pictures_come_from_the_results(tmp_path, demo):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "results"
    document = run(tmp_path, demo, "--as-published", retriever=letter_retriever())
    write(document, folder / "pir-s-as-published.json")
    run(tmp_path, demo, retriever=letter_retriever())
    rules = ["--data", str(demo), "--extract", "rules", "--out", str(folder / "pir-rules.json")]
    console = quiet()
    assert main(rules, console=console) == 0
    assert "unusable replies" in console.file.getvalue()
    found = sections(folder)
    assert "| published: SimCSE-sup | 11.0 | 86.1 |" in found["pir-retrievers"]
    assert "| pap+ |" in found["pir-methods"]
    assert "sample-as" not in found["pir-methods"]
    assert "s-as-published" in found["pir-as-published"]
    assert "| rules |" in found["pir-extraction"]
    assert "what there is to find" in found["pir-shares"]
    assert "| sample |" in found["pir-ties"]
    pictures = tmp_path / "figures"
    given = ["--results", str(folder / "pir-sample.json"), "--out", str(pictures)]
    assert draw(given) == 0
    names = ["asked", "found", "heatmap"]
    expected = {f"pir-countries-{name}.svg" for name in names} | {"pir-recall.svg"}
    assert {path.name for path in pictures.iterdir()} == expected
    before = (pictures / "pir-recall.svg").read_bytes()
    assert draw(given) == 0
    assert (pictures / "pir-recall.svg").read_bytes() == before
    assert draw([*given, "--group", "none of these"]) == 2
    assert draw(["--results", str(tmp_path / "nothing.json")]) == 2


def test_a_narrow_console_cuts_neither_names_nor_numbers():
    table = Table("t", ["method", *(f"a long heading {i}" for i in range(6))])
    table.add("adaptive", *["63.0 [58.5, 67.4]"] * 6)
    console = Console(file=io.StringIO(), width=90)
    console.print(table.rich())
    said = console.file.getvalue()
    assert "adaptive" in said
    assert "…" not in said
    assert said.count("63.0") == said.count("67.4]") == 6


def test_without_results_there_are_no_sections(tmp_path):
    assert sections(tmp_path) == {}


def test_what_cannot_be_done_ends_with_status_2(tmp_path, demo):
    given = ["--out", str(tmp_path / "o.json"), "--cache", str(tmp_path)]
    assert main(["--data", str(tmp_path / "nowhere"), *given], console=quiet()) == 2
    assert main(["--data", str(demo), "--method", "magic", *given], console=quiet()) == 2
    assert not (tmp_path / "o.json").exists()


def test_a_user_task_runs_alone_with_chosen_methods(tmp_path):
    path = write_jsonl(tmp_path / "mine.jsonl")
    document = run(tmp_path, path, "--method", "pap", retriever=letter_retriever())
    [group] = document["results"]["groups"].values()
    assert list(group["average"]) == ["none", "pap"]


def test_published_averages_are_those_of_their_rows():
    for table in (TABLE_2, TABLE_8):
        for name, values in table.items():
            assert np.mean(values[:-1]) == pytest.approx(values[-1], abs=0.11), name
    assert TABLE_9["SimCSE-base-sup"][0] == TABLE_8["pap"][-1]
    assert TABLE_8["none"] == TABLE_2["SimCSE-sup"]
    assert tuple(TABLE_8) == PUBLISHED_METHODS


def test_results_hold_no_nan(tmp_path, demo):
    document = run(tmp_path, demo, retriever=letter_retriever())
    write(document, tmp_path / "again.json")
