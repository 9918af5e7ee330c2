"""Parts that a command line names with a word."""

from __future__ import annotations

import pytest

from perspective_rag import ConfigError
from perspective_rag.commands.parts import encoder_of, judge_of


@pytest.mark.parametrize("returned", ["None", "{1}"])
@pytest.mark.parametrize("part", ["encoder", "judge"])
def test_what_a_factory_returns_is_a_part(part, returned, tmp_path, monkeypatch):
    name = f"mine_{part}_{len(returned)}"
    (tmp_path / f"{name}.py").write_text(f"def factory():\n    return {returned}\n")
    monkeypatch.syspath_prepend(tmp_path)
    spec = f"{name}:factory"
    with pytest.raises(ConfigError, match=f"{spec} returned"):
        encoder_of(spec) if part == "encoder" else judge_of(spec, tmp_path / "cache")
