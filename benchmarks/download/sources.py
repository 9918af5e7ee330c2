"""The public data sets: where their files are, how they are checked, and what they become.

Files of GitHub are named by commit and checked by hash. The hub's files have no hash here, because
their owners may correct them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.download import converting
from benchmarks.pir.hub import FILES, HUB_PREFIX, HUB_TASKS

GITHUB = "https://raw.githubusercontent.com"
HUB = "https://huggingface.co"

Convert = Callable[[Mapping[str, Path], Path], list[Path]]
"""(file name -> where it lies, target folder) -> the files written."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file by its address, with the SHA-256 of its bytes or its id as a blob of git, if known."""

    name: str
    url: str
    sha256: str | None = None
    git_blob: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A public data set: its files, its licence, and how they become what a benchmark reads."""

    name: str
    what: str
    licence: str
    files: tuple[RemoteFile, ...]
    convert: Convert
    writes: tuple[str, ...]
    """Below the target folder."""


def _github(repository: str, commit: str, path: str, **check: str) -> RemoteFile:
    return RemoteFile(path.rpartition("/")[2], f"{GITHUB}/{repository}/{commit}/{path}", **check)


def _berds(path: str, sha256: str) -> RemoteFile:
    commit = "f396446b96d5378557a224be6419d61138e732d8"
    return _github("timchen0618/berds", commit, path, sha256=sha256)


def _perspectrum(name: str, **check: str) -> RemoteFile:
    commit = "b42c27b85f20f2a35c0a0895698fa242ccf160ab"
    return _github("CogComp/perspectrum", commit, f"data/dataset/{name}", **check)


def _hub_file(task: str, file: str) -> RemoteFile:
    url = f"{HUB}/datasets/{HUB_PREFIX}{task}/resolve/main/{file}"
    return RemoteFile(f"{task}/{file}", url)


_ALL = (
    Source(
        "pir-demo",
        "the PIR authors' demo: 6 tasks of 100 queries on 500 texts",
        "Apache-2.0 (repository colinzhaoust/pir); articles belong to their publishers",
        (
            _github(
                "colinzhaoust/pir",
                "cad87350f445eb535712efbd1373fd3f72152ec1",
                "demo_pir_dataset.json",
                sha256="6f1a07a86499072f164a7fc37860dc5559ede8a0f2848ae0edd1ae879c3bd2c5",
            ),
        ),
        converting.pir_demo,
        ("pir_demo/*.json",),
    ),
    Source(
        "pir-full",
        "the full PIR sets as on the hub, in BEIR's layout",
        "as stated on each set's page: huggingface.co/datasets/" + HUB_PREFIX + "*",
        tuple(_hub_file(task, file) for task in HUB_TASKS for file in FILES),
        converting.pir_full,
        ("pir_hub/TASK/",),
    ),
    Source(
        "berds-dev",
        "BERDS development questions with gold and GPT-4 perspectives",
        "none stated (repository timchen0618/berds): research use",
        (
            _berds(
                "query_exp/data/arguana_generated_query_exp.dev.jsonl",
                "b07ab94dc56d9602fb100e91c25e6eb73b3bbff7a46eb35518cf913edf413431",
            ),
            _berds(
                "query_exp/data/kialo_query_exp.dev.jsonl",
                "ea86c20023739cd9b99af2b0d8f46045661ad215d1e6aca083bc3a90df1ae58e",
            ),
            _berds(
                "query_exp/data/opinionqa_query_exp.dev.jsonl",
                "c82dfda7ebe3d79fb773f74043c111256c0283c565d3946e6919e595504ebd73",
            ),
        ),
        converting.berds_dev,
        ("berds_dev/*.jsonl",),
    ),
    Source(
        "berds-human",
        "BERDS pairs of document and perspective that people labelled: for reports, not for tuning",
        "none stated (repository timchen0618/berds): research use",
        (
            _berds(
                "perspective_detection/data/pers_det.test.tsv",
                "10ad76a5958f9bdbf8a1fe2ee7c76ae7368487b545734dc1fd6882f677f39159",
            ),
        ),
        converting.berds_human,
        ("judge_human/pairs.jsonl",),
    ),
    Source(
        "ambignq",
        "AmbigNQ development questions and the Wikipedia fragments of CondAmbigQA",
        "AmbigQA (Min et al. 2020), in a copy under MIT; CondAmbigQA: none stated. Research use",
        (
            _github(
                "Nawel-Bellil/chat-bot-Q-and-A",
                "db9b83b69c79c6495e04d398971679277ac976d0",
                "dev_light.json",
                sha256="425c259bd6b28a2ea35894b9cea0192a3117c32bdcf6e5549ef66b31218eeb28",
            ),
            _github(
                "innovation64/CondAmbigQA",
                "0880cef6d9c0bd7ca63c8ca29517bb092c5c7f4e",
                "mcaqa.json",
                sha256="3d7cc843d137cd1640f491ea1ca1fc53dbfea1b143e17fe81492f831cd2e06be",
            ),
        ),
        converting.ambignq,
        ("ambigqa/ambignq_dev.jsonl", "ambigqa/condambigqa.jsonl.gz"),
    ),
    Source(
        "perspectrum",
        "Perspectrum's development claims as a PIR task and as questions with labelled passages, "
        "and its evidence as a corpus",
        "CC BY-SA 4.0 (repository CogComp/perspectrum): name the authors, share alike",
        (
            _perspectrum(
                "perspectrum_with_answers_v1.0.json",
                sha256="39d0391d26ebe21efb1cc3162abcc3c4212d2eadfb07514129c3015d6f6ae1f1",
            ),
            _perspectrum(
                "perspective_pool_v1.0.json",
                sha256="d4d4e78c4777ea971d26546a8819aa9e02c5a68ffff45e10b40ca0cb91b43ae4",
            ),
            _perspectrum(
                "dataset_split_v1.0.json",
                sha256="5ba5296f6e5956c44a2fd014b15a3f7c10b9a253451162932acaf217f20cd7da",
            ),
            _perspectrum(
                "evidence_pool_v1.0.json", git_blob="7c2288be9f63e417cfd715d5bbcff45659ccbcfb"
            ),
        ),
        converting.perspectrum,
        (
            "pir_perspectrum/perspectrum.jsonl",
            "perspectrum/gold.jsonl",
            "perspectrum/evidence.jsonl",
        ),
    ),
)

SOURCES: Mapping[str, Source] = {source.name: source for source in _ALL}
