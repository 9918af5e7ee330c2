"""Reading TOML: what is wrong with a file is said with its name."""

from __future__ import annotations

import pytest

from perspective_rag.errors import ConfigError
from perspective_rag_train.toml_file import read_toml


def test_a_file_is_read(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("[run]\nk = 5\n", encoding="utf-8")
    assert read_toml(path, extra="bench") == {"run": {"k": 5}}


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"k = ", "is not valid TOML"), (b"\xff", "cannot be read"), (None, "cannot be read")],
)
def test_an_unusable_file_is_refused_by_name(tmp_path, content, says):
    path = tmp_path / "a.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=rf"a\.toml {says}"):
        read_toml(path, extra="bench")
