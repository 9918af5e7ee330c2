"""The shape of the house: layers, public names, what importing costs, packaging."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import perspective_rag

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "perspective_rag"

# Each layer may import itself and the layers above it.
LAYERS = [
    {"types", "errors", "checks", "copies", "reporting"},
    {
        "vectors",
        "sentences",
        "projection",
        "adaptive",
        "fusion",
        "dedup",
        "gate",
        "threads",
        "calls",
        "flow",
        "protocols",
        "options",
    },
    {"request", "judging", "coverage", "replies", "prompts", "select", "extract", "expand"},
    {"judge", "search", "merge", "answer", "ledger", "kept", "jsonl"},
    {"ordering", "selection", "guard", "rerank", "adaptive_search", "backends", "corpus"},
    {"discover"},
    {"pipeline"},
    {"local", "loading", "testing", "user_retriever", "audit", "dataset"},
    {"commands"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def modules():
    return [p for p in LIBRARY.rglob("*.py") if p.name != "__init__.py" or p.parent != LIBRARY]


def imported_parts(path):
    """First parts below perspective_rag of what a module imports, those for type checking alone left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("perspective_rag."):
            yield node.module.split(".")[1]


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(LIBRARY)))
def test_a_module_imports_only_its_own_layer_and_those_above(path):
    own = path.relative_to(LIBRARY).parts[0].removesuffix(".py")
    assert own in LEVEL, f"{own} has no layer yet"
    below = [part for part in imported_parts(path) if LEVEL[part] > LEVEL[own]]
    assert not below


def test_every_public_name_can_be_imported_and_is_declared_for_type_checkers():
    declared = (LIBRARY / "__init__.py").read_text(encoding="utf-8")
    for name in perspective_rag.__all__:
        assert getattr(perspective_rag, name).__name__ == name
        assert re.search(rf"\b{name} as {name}\b", declared)
    with pytest.raises(AttributeError):
        perspective_rag.nothing  # noqa: B018


def test_importing_needs_numpy_only():
    code = (
        "import sys, perspective_rag\n"
        "from perspective_rag import PerspectivePipeline, CrossEncoderJudge, Corpus, LLMExtractor, OnnxMiniLM\n"
        "heavy = {'torch','transformers','langchain_core','llama_index','openai','faiss','bm25s','onnxruntime',"
        "'tokenizers','rich','sentence_transformers'}\n"
        "print(sorted(heavy & {m.split('.')[0] for m in sys.modules}))"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "[]"


def test_the_library_never_prints():
    for path in [*modules(), *(ROOT / "integrations").rglob("*.py")]:
        calls = [
            n
            for n in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(n, ast.Call)
        ]
        assert not [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"], path


def test_modules_stay_small():
    folders = [LIBRARY, ROOT / "integrations", ROOT / "benchmarks", ROOT / "examples"]
    long = {
        str(path.relative_to(ROOT)): count
        for folder in folders
        for path in folder.rglob("*.py")
        if (count := len(path.read_text(encoding="utf-8").splitlines())) > 320
    }
    assert not long
