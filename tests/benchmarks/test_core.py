"""What the benchmarks share: blocks of results in documents, schemas, TOML."""

from __future__ import annotations

import pytest
from pydantic import Field

from benchmarks.core.filling import fill, filled
from benchmarks.core.schema import Strict, checked
from perspective_rag import ConfigError
from perspective_rag_train.toml_file import read_toml

TEXT = "a\n<!-- results:x -->\nold\n<!-- /results:x -->\nb\n"


def test_a_block_is_made_anew_and_all_else_stays():
    assert filled(TEXT, {"x": "new\n", "y": "z"}) == TEXT.replace("old", "new")
    assert filled(TEXT, {}) == TEXT


def test_a_block_without_an_end_is_an_error():
    with pytest.raises(ValueError, match="'x' has no end"):
        filled("<!-- results:x -->\nold", {"x": "new"})


def test_only_outdated_documents_are_written_and_none_when_checking(tmp_path):
    one, two = tmp_path / "one.md", tmp_path / "two.md"
    one.write_text(TEXT)
    two.write_text("nothing to fill")
    assert fill([one, two], {"x": "new\n"}, check=True) == [one]
    assert one.read_text() == TEXT
    assert fill([one, two], {"x": "new\n"}, check=False) == [one]
    assert fill([one, two], {"x": "new\n"}, check=True) == []


class Small(Strict):
    size: int | None = Field(None, ge=1, description="an integer, at least 1")
    share: float | None = Field(None, ge=0, le=1, description="a number in [0, 1]")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"sise": 1}, "here: unknown key 'sise'; did you mean 'size'"),
        ({"size": 0}, "here: size must be an integer, at least 1, got 0"),
        ({"size": "1"}, "size must be an integer"),
        ({"size": True}, "size must be an integer"),
        ({"share": float("nan")}, r"share must be a number in \[0, 1\], got nan"),
        ({"share": True}, "share must be a number"),
    ],
)
def test_a_wrong_key_or_value_says_what_is_expected(values, says):
    with pytest.raises(ConfigError, match=says):
        checked(Small, values, "here")


def test_a_right_value_is_kept_and_an_integer_is_a_number():
    assert checked(Small, {"size": 2, "share": 1}, "here").share == 1


@pytest.mark.parametrize(
    ("data", "says"), [(b"[run\n", "is not valid TOML"), (b"a = '\xff'", "cannot be read")]
)
def test_a_file_that_is_no_toml_is_said_with_its_path(tmp_path, data, says):
    path = tmp_path / "my.toml"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=f"my.toml {says}"):
        read_toml(path, extra="bench")
