"""The modes in which a person reads: audits of what is listed, and labels over a large corpus."""

from __future__ import annotations

from itertools import chain
from typing import Any

from benchmarks.berds.questions import Question, datasets_of, fingerprint, read_questions
from benchmarks.core import results
from benchmarks.sides import report
from benchmarks.sides.audit import listed_pairs, read_sample, write_errors, write_sample
from benchmarks.sides.commands import Setting
from benchmarks.sides.data import read_pools
from benchmarks.sides.labelled import ROWS, ask_all, labelled_figures, wanted_pairs
from benchmarks.sides.labels import read_labels, take_work, write_work
from benchmarks.sides.lacking import over_own
from benchmarks.sides.long import PLACES, WORDS, arguments, read_chunks
from perspective_rag import ConfigError, Corpus
from perspective_rag_train.append_log import AppendLog


def write_listed(setting: Setting) -> int:
    """Listed supports, a sample to be marked or all wrong ones, to a file."""
    options = setting.options
    if options.errors is None and options.audit_file is None:
        raise ConfigError("--audit-sample needs --audit-file: where the sample is written")
    bench = setting.pool_bench()
    with setting.counting("asking", len(bench.pools.questions)) as step:
        outcomes = over_own(bench, options.k, step)
    pairs = listed_pairs(outcomes, bench.pools.questions)
    if options.errors is not None:
        count = write_errors(pairs, bench.pools, options.errors)
        said = f"{count} of {len(pairs)} listed supports are wrong by the labels: {options.errors}"
    else:
        count = write_sample(
            pairs, bench.pools, options.audit_file, size=options.audit_sample, seed=options.seed
        )
        said = (
            f"{count} of {len(pairs)} listed supports are in {options.audit_file}: mark each yes "
            "(it supports the perspective), no or opposes, then run with --read-audit"
        )
    setting.console.print(said, highlight=False, markup=False)
    return 0


def read_audit(setting: Setting) -> int:
    """The share of a marked sample that supports."""
    options = setting.options
    pools = read_pools(options.data)
    found = read_sample(options.read_audit, pools, seed=options.seed)
    table = report.audit_table(found, "Listed supports as a person reads them, 95% intervals")
    setting.console.print(table.rich())
    if found["not_marked"]:
        setting.console.print(f"{found['not_marked']} are not marked yet.")
    return 0


def long_chunks(setting: Setting) -> int:
    """Passages that take a side within long chunks that otherwise take none."""
    debates = setting.options.long
    asked = arguments(debates)[: setting.options.limit]
    bench = setting.bench()
    with setting.counting("asking", len(asked) * len(PLACES)) as step:
        found = read_chunks(bench, asked, step)
    title = f"{len(asked)} passages that take a side, in chunks of about {WORDS} words"
    setting.publish(
        "sides_long",
        bench,
        {"name": debates.name, "corpus": Corpus.load(debates / "passages.jsonl").fingerprint},
        {"words": WORDS},
        found,
        [report.long_table(found, title)],
        degradations=sum(row["degradations"] for row in found["rows"].values()),
    )
    return 0


def take(setting: Setting) -> int:
    """The labels of a work file go to the first file of --labels."""
    options = setting.options
    count = take_work(options.take, options.labels[0])
    setting.console.print(f"{count} labels added to {options.labels[0]}", highlight=False)
    return 0


def labelled(setting: Setting) -> int:
    """Questions over a corpus, scored by the labels there are."""
    options = setting.options
    if options.questions is None or options.corpus is None:
        raise ConfigError("--labels needs --questions and --corpus")
    labels = read_labels(options.labels)
    questions = _first_of_each(read_questions(options.questions), options.per_set)[: options.limit]
    corpus = Corpus.load(options.corpus)
    bench = setting.bench()
    # Everything that an answer depends on; with it a run that was killed goes on where it stopped.
    key = {
        "corpus": corpus.fingerprint,
        "library": results.source_fingerprint(),
        "judge": results.judge_identity(bench.judge, setting.judge_folder),
        "embedder": str(getattr(setting.embedder, "name", type(setting.embedder).__name__)),
        "questions": fingerprint(questions),
        "k": options.k,
        "given": options.given,
    }
    with (
        AppendLog(setting.cache, "sides labelled", key) as log,
        setting.counting("asking", len(questions) * len(ROWS)) as step,
    ):
        asked = ask_all(bench, corpus, questions, options.k, step, given=options.given, log=log)
    everything = list(chain.from_iterable(asked.values()))
    open_ = labels.lacking(wanted_pairs(everything, polar=options.polar))
    if options.work is not None:
        texts = {passage.id: passage.text for passage in corpus.passages}
        write_work(open_, texts, options.work)
        setting.console.print(
            f"{len(open_)} pairs to be labelled are in {options.work}", highlight=False
        )
    found: dict[str, Any] = {
        **labelled_figures(asked, labels, options.k, seed=options.seed),
        "labels": len(labels),
        "pairs_without_label": len(open_),
    }
    title = f"{len(questions)} questions over {len(corpus):,} passages, by labels, 95% intervals"
    lines = [f"{len(open_)} pairs lack a label and count as not true."] if open_ else []
    setting.publish(
        "sides_labelled",
        bench,
        {
            "name": ", ".join(datasets_of(questions)),
            "fingerprint": fingerprint(questions),
            "corpus": corpus.fingerprint,
            "passages": len(corpus),
            "questions": len(questions),
        },
        {"k": options.k, "given": options.given, "polar": options.polar},
        found,
        [
            report.labelled_table(found, title, options.k),
            report.labelled_sets_table(found, "By set", options.k),
        ],
        *lines,
        degradations=sum(row["degradations"] for row in found["rows"].values()),
    )
    return 0


def _first_of_each(questions: list[Question], count: int | None) -> list[Question]:
    """The first questions of each set; None keeps all."""
    if count is None:
        return questions
    return [
        each
        for name in datasets_of(questions)
        for each in [q for q in questions if q.dataset == name][:count]
    ]
