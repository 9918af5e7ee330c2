"""Datasets of the Hugging Face hub as a corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from perspective_rag import ConfigError, CorpusError, MissingDependency
from perspective_rag.addons import Record, as_record, json_ready


def hub_records(
    source: str, report: Callable[[int, str], None], columns: Mapping[str, str]
) -> Iterator[Record]:
    """One record for each row of ``hf:NAME[:CONFIG][:SPLIT]``, streamed.

    NAME is a dataset of the Hugging Face hub or a folder of data files; without a split ``train``
    is read, or the only one. One part after the name is the split where the dataset has a split of
    that name, else the configuration. Raises MissingDependency without ``datasets``, ConfigError
    for a name without parts that it can have, and CorpusError where it cannot be opened.
    """
    try:
        import datasets
    except ImportError as error:
        raise MissingDependency("hub", "reading a Hugging Face dataset") from error
    rows = _split_of(datasets, source)
    number = 0
    try:
        for row in rows:
            number += 1
            record = as_record(json_ready(dict(row)), number, report, columns)
            if record is not None:
                yield record
    except Exception as error:  # whatever a file of the dataset makes of its reader
        report(number + 1, f"cannot be read from here on: {error!r}")


def _split_of(datasets: Any, source: str) -> Any:
    name, *parts = source.removeprefix("hf:").split(":")
    if not name or len(parts) > 2 or not all(parts):
        raise ConfigError(
            f"expected hf:NAME, hf:NAME:SPLIT or hf:NAME:CONFIG:SPLIT, got {source!r}"
        )
    wanted = parts[-1] if parts else "train"
    try:
        if len(parts) == 2:
            splits = datasets.load_dataset(name, parts[0], streaming=True)
        elif parts and wanted in datasets.get_dataset_config_names(name):
            splits, wanted = datasets.load_dataset(name, wanted, streaming=True), "train"
        else:
            splits = datasets.load_dataset(name, streaming=True)
    except Exception as error:  # of the hub, its client, and the files' own readers
        raise CorpusError(f"{source} cannot be opened: {error}") from error
    if wanted not in splits and len(splits) == 1 and not parts:
        [wanted] = splits
    if wanted not in splits:
        raise ConfigError(f"{source} has no split {wanted!r}; it has {', '.join(splits)}")
    return splits[wanted]
