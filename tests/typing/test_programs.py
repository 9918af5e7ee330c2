"""What editors and type checkers know: right programs pass, every mistake in a wrong one is found."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
FRAMEWORKS = ["langchain", "llama_index", "haystack"]
PACKAGES = [ROOT, *(ROOT / "integrations" / name for name in FRAMEWORKS)]
NAMES = ["plain", *(f"with_{name}" for name in FRAMEWORKS)]
CHECKERS = ["mypy", "pyright"]


def marked(name):
    lines = (PROGRAMS / name).read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, start=1) if "# wrong" in line}


def mypy(folder):
    options = "--strict --python-version 3.10 --no-error-summary --explicit-package-bases"
    # Nothing is reported of the packages themselves: `make types` checks those.
    options += " --namespace-packages --follow-imports silent --config-file="
    files = sorted(path.name for path in folder.glob("*.py"))
    cache = f"--cache-dir={ROOT / '.mypy_cache' / 'programs'}"
    found = subprocess.run(
        [sys.executable, "-m", "mypy", *options.split(), cache, *files],
        cwd=folder,
        env={**os.environ, "MYPYPATH": os.pathsep.join(map(str, PACKAGES))},
        capture_output=True,
        text=True,
    )
    assert not found.stderr, found.stderr
    for file, line, message in re.findall(r"^([^:]+):(\d+): error: (.+)$", found.stdout, re.M):
        yield Path(file).name, int(line), message


def pyright(folder):
    settings = {
        "typeCheckingMode": "strict",
        "pythonVersion": "3.10",
        "include": ["."],
        "extraPaths": [str(path) for path in PACKAGES],
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    found = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    for each in json.loads(found.stdout)["generalDiagnostics"]:
        if each["severity"] == "error":
            line = each["range"]["start"]["line"] + 1
            yield Path(each["file"]).name, line, each["message"]


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    """By checker and file: the messages of each line."""
    found = {}
    for checker, run in (("mypy", mypy), ("pyright", pyright)):
        folder = tmp_path_factory.mktemp(checker)
        for path in PROGRAMS.glob("*.py"):
            shutil.copy(path, folder)
        for file, line, message in run(folder):
            found.setdefault((checker, file), {}).setdefault(line, []).append(message)
    return found


@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize("name", NAMES)
def test_a_right_program_passes(name, checker, errors):
    assert errors.get((checker, f"{name}.py"), {}) == {}


@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize("name", NAMES)
def test_every_mistake_is_found_on_its_line_and_nothing_else(name, checker, errors):
    file = f"{name}_mistakes.py"
    assert len(marked(file)) >= 12
    assert set(errors[checker, file]) == marked(file)


@pytest.mark.parametrize("name", NAMES)
def test_a_right_program_runs(name):
    subprocess.run(
        [sys.executable, PROGRAMS / f"{name}.py"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, PACKAGES))},
        capture_output=True,
        check=True,
    )
