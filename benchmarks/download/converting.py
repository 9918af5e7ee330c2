"""From the files as published to those that the benchmarks read.

Texts are kept but for whitespace and Unicode (NFC), so that equal passages are equal.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from perspective_rag import CorpusError
from perspective_rag.addons import json_lines

_GENERATED = "_generated_query_exp.dev.jsonl", "_query_exp.dev.jsonl"
_SIDES = {"SUPPORT": "support", "UNDERMINE": "oppose"}
_ASKED = {
    "general": "a claim that relates to the argument",
    "support": "a claim that supports the argument",
    "undermine": "a claim that opposes the argument",
}


def pir_demo(files: Mapping[str, Path], to: Path) -> list[Path]:
    """One file for each task of the demo."""
    tasks = _json(files["demo_pir_dataset.json"])
    return [
        _write(to / "pir_demo" / f"{name}.json", json.dumps(task, ensure_ascii=False))
        for name, task in tasks.items()
    ]


def pir_full(files: Mapping[str, Path], to: Path) -> list[Path]:
    """The hub's files as they are, a folder for each task."""
    return [_write(to / "pir_hub" / name, path.read_text("utf-8")) for name, path in files.items()]


def berds_dev(files: Mapping[str, Path], to: Path) -> list[Path]:
    """One line for each question, with all perspectives that were generated for it."""
    written = []
    for name, path in files.items():
        questions: dict[str, dict[str, Any]] = {}
        for place, row in json_lines(path):
            with _Place(place):
                question = questions.setdefault(
                    row["org_id"],
                    {
                        "id": row["org_id"],
                        "question": _clean(row["org_q"]),
                        "perspectives": [_clean(each) for each in row["perspectives"]],
                        "generated_perspectives": [],
                    },
                )
                found = {"name": row["perspective"], "text": _clean(row["text"])}
                question["generated_perspectives"].append(found)
        short = name
        for ending in _GENERATED:
            short = short.removesuffix(ending)
        written.append(_write_rows(to / "berds_dev" / f"{short}.jsonl", questions.values()))
    return written


def berds_human(files: Mapping[str, Path], to: Path) -> list[Path]:
    """The labelled pairs as JSON lines."""
    path = files["pers_det.test.tsv"]
    rows = csv.DictReader(io.StringIO(path.read_text("utf-8"), newline=""), delimiter="\t")
    fields = ("id", "question", "document", "perspective", "label")
    with _Place(path.name):
        pairs = [{name: _clean(row[name]) for name in fields} for row in rows]
    return [_write_rows(to / "judge_human" / "pairs.jsonl", pairs)]


def ambignq(files: Mapping[str, Path], to: Path) -> list[Path]:
    """AmbigNQ's meanings and answers by annotator, and CondAmbigQA's fragments by question."""
    asked = files["dev_light.json"]
    fragments = files["mcaqa.json"]
    with _Place(asked.name):
        questions = [_ambignq_row(row) for row in _json(asked)]
    with _Place(fragments.name):
        found = [
            {
                "id": row["id"],
                "question": _clean(row["question"]),
                "passages": [
                    {"title": _clean(each["title"]), "text": _clean(each["text"])}
                    for each in row["ctxs"]
                ],
            }
            for row in _json(fragments)
        ]
    return [
        _write_rows(to / "ambigqa" / "ambignq_dev.jsonl", questions),
        _write_rows(to / "ambigqa" / "condambigqa.jsonl.gz", found),
    ]


def perspectrum(files: Mapping[str, Path], to: Path) -> list[Path]:
    """A PIR task of the development claims, the same claims with the passages of each side, and
    the evidence paragraphs as a corpus.
    """
    name = "perspectrum_with_answers_v1.0.json"
    with _Place(name):
        split = _json(files["dataset_split_v1.0.json"])
        texts = {each["pId"]: each["text"] for each in _json(files["perspective_pool_v1.0.json"])}
        claims = [
            claim
            for claim in sorted(_json(files[name]), key=lambda each: int(each["cId"]))
            if {each["stance_label_3"] for each in claim["perspectives"]} >= set(_SIDES)
        ]
        dev = [claim for claim in claims if split.get(str(claim["cId"])) == "dev"]
        documents = _documents(claims, texts)
        task = [*documents.values(), *_pir_queries(dev, documents)]
        gold = [
            *({"kind": "doc", "id": pid, "text": row["text"]} for pid, row in documents.items()),
            *map(_gold_question, dev),
        ]
        evidence = [
            {"id": each["eId"], "text": _clean(each["text"]), "source": each.get("source", "")}
            for each in _json(files["evidence_pool_v1.0.json"])
        ]
    return [
        _write_rows(to / "pir_perspectrum" / "perspectrum.jsonl", task),
        _write_rows(to / "perspectrum" / "gold.jsonl", gold),
        _write_rows(to / "perspectrum" / "evidence.jsonl", evidence),
    ]


def _ambignq_row(row: Mapping[str, Any]) -> dict[str, Any]:
    by_kind: dict[str, list[Any]] = {"singleAnswer": [], "multipleQAs": []}
    for each in row["annotations"]:
        by_kind[each["type"]].append(each)
    meanings = [
        [
            {"question": _clean(pair["question"]), "answers": _cleaned(pair["answer"])}
            for pair in each["qaPairs"]
        ]
        for each in by_kind["multipleQAs"]
    ]
    return {
        "id": row["id"],
        "question": _clean(row["question"]),
        "ambiguous": bool(meanings),
        "disambiguations": meanings,
        "single_answers": [_cleaned(each["answer"]) for each in by_kind["singleAnswer"]],
    }


def _documents(
    claims: Iterable[Mapping[str, Any]], texts: Mapping[int, str]
) -> dict[int, dict[str, Any]]:
    """The perspectives of all claims and their paraphrases, by their id."""
    pids = dict.fromkeys(
        pid for claim in claims for each in claim["perspectives"] for pid in each["pids"]
    )
    return {
        pid: {"kind": "doc", "id": number, "text": _clean(texts[pid])}
        for number, pid in enumerate(pids)
    }


def _pir_queries(
    claims: Iterable[Mapping[str, Any]], documents: Mapping[int, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    queries = []
    for claim in claims:
        for label, perspective in _ASKED.items():
            root = _clean(claim["text"])
            # "Find a claim relates to" is the wording of the published queries.
            asked = perspective.replace("that relates", "relates")
            gold = [
                documents[pid]["id"]
                for each in claim["perspectives"]
                if label in ("general", each["stance_label_3"].lower())
                for pid in each["pids"]
            ]
            queries.append(
                {
                    "kind": "query",
                    "id": f"{claim['cId']}-{label}",
                    "text": f"Find {asked}: {root}",
                    "root": root,
                    "perspective": perspective,
                    "label": label,
                    "gold": list(dict.fromkeys(gold)),
                }
            )
    return queries


def _gold_question(claim: Mapping[str, Any]) -> dict[str, Any]:
    gold: dict[str, list[int]] = {side: [] for side in _SIDES.values()}
    for each in claim["perspectives"]:
        gold[_SIDES[each["stance_label_3"]]] += each["pids"]
    return {
        "kind": "query",
        "id": claim["cId"],
        "question": _clean(claim["text"]),
        "gold": {side: list(dict.fromkeys(pids)) for side, pids in gold.items()},
    }


def _cleaned(texts: Iterable[str]) -> list[str]:
    return [_clean(each) for each in texts]


def _clean(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _json(path: Path) -> Any:
    with _Place(path.name):
        return json.loads(path.read_text("utf-8"))


def _write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return _write(path, "".join(lines))


def _write(path: Path, text: str) -> Path:
    """Writes the file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    data = text.encode("utf-8")
    # Without a date in it, the same texts give the same file.
    new.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    os.replace(new, path)
    return path


class _Place:
    """Names the file or line in the error of what was wrong with it."""

    def __init__(self, place: str) -> None:
        self._place = place

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, (KeyError, TypeError, ValueError, AttributeError)) and not isinstance(
            error, CorpusError
        ):
            raise CorpusError(f"{self._place} is not as published: {error!r}") from error
