"""Which output of a classifier means support: read from its labels, never assumed."""

from __future__ import annotations

from collections.abc import Sequence

from perspective_rag.errors import ConfigError

# What models call the three classes.
_CLASS_NAMES = {
    "support": (
        "support",
        "supports",
        "entailment",
        "entail",
        "favor",
        "favour",
        "agree",
        "pro",
        "yes",
        "true",
    ),
    "oppose": (
        "oppose",
        "opposes",
        "contradiction",
        "contradict",
        "refute",
        "refutes",
        "against",
        "disagree",
        "con",
    ),
    "neutral": (
        "neutral",
        "not_entailment",
        "not enough info",
        "none",
        "unrelated",
        "discuss",
        "no",
        "false",
    ),
}


def class_columns(labels: Sequence[str]) -> dict[str, int]:
    """Which output stands for support, oppose and neutral, by the labels' names; raises ConfigError
    if none is support.
    """
    columns: dict[str, int] = {}
    for index, label in enumerate(labels):
        for name, synonyms in _CLASS_NAMES.items():
            if label.strip().lower().replace("-", "_") in synonyms:
                columns.setdefault(name, index)
    if "support" not in columns:
        raise ConfigError(
            f"no label of the model means support or entailment: {list(labels)}; name them in "
            "config.json's id2label, for example {0: 'support', 1: 'oppose', 2: 'neutral'}"
        )
    return columns
