"""For tests of your own code: stand-ins for models and stores, and suites that check a part you
wrote against what the pipeline expects of it.

The stand-ins (``HashEmbedder``, ``MemoryStore``, ``TableJudge``, ``RuleJudge``, ``ScriptedLLM``)
are deterministic, offline and without dependencies.
"""

from __future__ import annotations

from perspective_rag.testing.judges import JUDGE_CHECKS, JudgeCase, check_judge
from perspective_rag.testing.samples import SAMPLE
from perspective_rag.testing.standins import (
    HashEmbedder,
    MemoryStore,
    RuleJudge,
    ScriptedLLM,
    TableJudge,
)
from perspective_rag.testing.stores import STORE_CHECKS, StoreCase, check_store

__all__ = [
    "JUDGE_CHECKS",
    "SAMPLE",
    "STORE_CHECKS",
    "HashEmbedder",
    "JudgeCase",
    "MemoryStore",
    "RuleJudge",
    "ScriptedLLM",
    "StoreCase",
    "TableJudge",
    "check_judge",
    "check_store",
]
