"""The shape of the house: public names, what importing costs, size."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import perspective_rag
from perspective_rag import extend

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "perspective_rag"


def modules():
    return [p for p in LIBRARY.rglob("*.py") if p.name != "__init__.py" or p.parent != LIBRARY]


def test_every_public_name_can_be_imported_and_is_declared_for_type_checkers():
    declared = (LIBRARY / "__init__.py").read_text(encoding="utf-8")
    for name in perspective_rag.__all__:
        assert getattr(perspective_rag, name).__name__ == name
        assert re.search(rf"\b{name} as {name}\b", declared)
    with pytest.raises(AttributeError):
        perspective_rag.nothing  # noqa: B018


def test_importing_needs_numpy_only():
    code = (
        "import sys, perspective_rag, perspective_rag.extend\n"
        "from perspective_rag import PerspectivePipeline, CrossEncoderJudge, Corpus, LLMExtractor, OnnxMiniLM\n"
        "heavy = {'torch','transformers','langchain_core','llama_index','openai','faiss','bm25s','onnxruntime',"
        "'tokenizers','rich','sentence_transformers'}\n"
        "print(sorted(heavy & {m.split('.')[0] for m in sys.modules}))"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "[]"


def test_the_commands_need_no_more_than_the_extra_local_brings():
    """In a checkout everything is installed: what the extra does not bring is made impossible."""
    absent = "httpx fastapi uvicorn openai torch transformers datasets ray faiss langchain_core"
    code = (
        f"import sys\nsys.modules.update(dict.fromkeys({absent.split()}))\n"
        "import perspective_rag.addons\nfrom perspective_rag.cli import main\n"
        "for command in ('ask', 'index', 'audit', 'chat'):\n"
        "    try: main([command, '--help'])\n"
        "    except SystemExit as end: assert end.code in (0, None), command\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_library_never_prints():
    for path in [*modules(), *(ROOT / "integrations").rglob("*.py")]:
        calls = [
            n
            for n in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(n, ast.Call)
        ]
        assert not [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"], path


INTEGRATIONS = ("langchain_perspective_rag", "llama_index", "langchain_core", "haystack")


def imported_from(path):
    """(module, names) of each import statement in a file, wherever it stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((each.name, []) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", [each.name for each in node.names]


def test_integrations_import_public_names_only():
    public = {
        "perspective_rag": {*perspective_rag.__all__, "extend"},
        "perspective_rag.extend": set(extend.__all__),
    }
    files = list((ROOT / "integrations").rglob("*.py"))
    wrong = [
        f"{path.relative_to(ROOT)}: {module} {name}"
        for path in files
        for module, names in imported_from(path)
        if module.split(".")[0] == "perspective_rag"
        for name in names or [""]
        if name not in public.get(module, ())
    ]
    used = {
        name for path in files for name in re.findall(r"\bextend\.(\w+)", path.read_text("utf-8"))
    }
    assert used <= public["perspective_rag.extend"]
    assert len(files) > 20
    assert not wrong


def test_importing_the_langchain_wrapper_loads_no_step_of_the_pipeline():
    pytest.importorskip("langchain_core")
    code = (
        "import sys, langchain_perspective_rag\n"
        "files = {getattr(m, '__file__', None) or '' for n, m in sys.modules.items() if 'perspective_rag' in n}\n"
        "print(sum(len(open(f, encoding='utf-8').readlines()) for f in files if f.endswith('.py')))"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert int(output.stdout) <= 9_000


def test_the_library_imports_no_integration():
    wrong = [
        f"{path.relative_to(ROOT)}: {module}"
        for path in modules()
        for module, _ in imported_from(path)
        if module.startswith(INTEGRATIONS)
    ]
    assert not wrong


def test_what_is_public_for_extending_can_be_imported():
    for name in extend.__all__:
        assert getattr(extend, name) is not None
    with pytest.raises(AttributeError):
        extend.nothing  # noqa: B018
    code = "import sys, perspective_rag.extend; print('perspective_rag.testing' in sys.modules)"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "False", "suites for tests are no part of the running program"
