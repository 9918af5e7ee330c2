"""What a server searches: a corpus or a retriever of the user's own, loaded with its progress."""

from __future__ import annotations

import argparse
import logging
import re
from collections.abc import Iterable, Sized
from itertools import islice
from typing import Any

from perspective_rag import CascadeJudge, Corpus, Passage, PerspectivePipeline, PerspectiveRAGError
from perspective_rag.addons import from_json, list_judge, printable, split_sentences
from perspective_rag.commands import (
    EXAMPLE_DEBATES,
    asked_again,
    chosen_options,
    encoder_of,
    judge_of,
    language_model,
    made_store,
    model_parts,
    packaged_encoder,
    pipeline_over,
    reading,
)
from perspective_rag.extend import second_judge_of
from perspective_rag_serve.loading import Loaded, Loader, Progress

_log = logging.getLogger(__name__)

_TOLD_EVERY = 200
_PROBLEMS_LOGGED = 5
_EXAMPLES = 6
_LOOKED_AT = 2000  # passages in which examples are looked for
_LONGEST_READ, _LONGEST_EXAMPLE = 2000, 120
_ARTICLES = ("The", "A", "An", "All", "Every", "No", "Our", "This", "These", "Those", "We")
_STATES = re.compile(
    r"(?P<subject>[A-Z][\w'’-]*(?: [\w'’-]+){0,4}) (?:should|must|ought to)"
    r" (?P<rest>(?!not\b)[\w'’-]+(?: [\w'’-]+){0,9})[.!]"
)


def loader_of(options: argparse.Namespace) -> Loader:
    """Loads what the command line names, and asks it once so that its models are in memory."""

    def load(progress: Progress) -> Loaded:
        if options.retriever:
            return _retriever(options, progress)
        if options.index:
            progress("indexing", 0, None)
            pipeline = pipeline_over(options, None, **chosen_options(options))
            _warm(pipeline, next(iter(examples_of(options)), "Should this be done?"))
            held = len(pipeline.store) if isinstance(pipeline.store, Sized) else None
            return Loaded(pipeline, held, options.llm)
        corpus = _read(options, progress)
        count = len(corpus)
        progress("indexing", 0, count)
        pipeline = pipeline_over(
            options,
            corpus,
            lambda done, total: progress("indexing", done, total),
            **chosen_options(options),
        )
        examples = examples_of(options) or questions_of(corpus.passages)
        _warm(pipeline, next(iter(examples), "Should this be done?"))
        return Loaded(pipeline, count, options.llm, examples)

    return load


def examples_of(options: argparse.Namespace) -> tuple[str, ...]:
    """Questions that the page offers: those that were given, or some of the sample debates."""
    if options.question:
        return tuple(options.question)
    if options.corpus != EXAMPLE_DEBATES or options.retriever:
        return ()
    lines = (EXAMPLE_DEBATES.parent / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(from_json(line)["question"] for line in lines[:_EXAMPLES])


def corpus_name(options: argparse.Namespace) -> str:
    """What the page calls the corpus: the name of its file or folder, without those above."""
    if options.corpus == EXAMPLE_DEBATES:
        return "Sample debates"
    return printable(options.corpus.name) if options.corpus else ""


def questions_of(passages: Iterable[Passage]) -> tuple[str, ...]:
    """Questions that some of the first passages answer: "Zoos should close." -> "Should zoos
    close?", and titles that are such questions.
    """
    found: dict[str, None] = {}
    for passage in islice(passages, _LOOKED_AT):
        title = " ".join(printable(passage.title).split())
        if title.startswith(("Should ", "Is ", "Are ")) and title.endswith("?"):
            found[title[:_LONGEST_EXAMPLE]] = None
        for sentence in split_sentences(passage.text[:_LONGEST_READ]):
            if stated := _STATES.fullmatch(" ".join(printable(sentence).split())):
                subject, rest = stated["subject"], stated["rest"]
                if subject.split()[0] in _ARTICLES:
                    subject = subject[0].lower() + subject[1:]
                found[f"Should {subject} {rest}?"] = None
        if len(found) >= _EXAMPLES:
            break
    return tuple(found)[:_EXAMPLES]


def _read(options: argparse.Namespace, progress: Progress) -> Corpus:
    count = 0

    def tell(passage: Passage) -> None:
        nonlocal count
        count += 1
        if count % _TOLD_EVERY == 0:
            progress("reading", count, None)

    progress("reading", 0, None)
    corpus = Corpus.load(options.corpus, cache=options.cache, on_passage=tell, **reading(options))
    for problem in corpus.problems[:_PROBLEMS_LOGGED]:
        _log.warning("%s", printable(str(problem)))
    if corpus.problems:
        found = corpus.problem_count, len(corpus)
        _log.warning("%d could not be read; %d passages were", *found)
    return corpus


def _retriever(options: argparse.Namespace, progress: Progress) -> Loaded:
    passages = (lambda: list(_read(options, progress).passages)) if options.corpus else None
    store, embedder = made_store(options.retriever, passages)
    progress("indexing", 0, None)
    judge = judge_of(getattr(options, "judge", "default"), options.cache)
    asked = options.llm_judge or language_model(options)
    second_judge = second_judge_of(getattr(options, "judge", "default"), asked or None)
    if options.llm_judge:
        judge = CascadeJudge(judge, llm_judge=asked_again(options))
    elif getattr(options, "judge", "default") == "default":
        judge = list_judge(language_model(options), judge)
    settings: dict[str, Any] = model_parts(options) | chosen_options(options)
    pipeline = PerspectivePipeline(
        store,
        embedder=embedder or encoder_of(options.encoder) or packaged_encoder(),
        judge=judge,
        second_judge=second_judge,
        **settings,
    )
    return Loaded(pipeline, None, options.llm)


def _warm(pipeline: PerspectivePipeline, question: str) -> None:
    try:
        pipeline.answer(pipeline.retrieve(question))
    except PerspectiveRAGError as error:  # the questions of people will say so too
        _log.warning("the first question, asked to load the models, failed: %s", error)
