"""Files of one thing a line, whatever is in the lines."""

from __future__ import annotations

import gzip
import json

import pytest

from perspective_rag import CorpusError
from perspective_rag.audit.questions import (
    AuditQuestion,
    read_audit_questions,
    write_audit_questions,
)
from perspective_rag.storage.files import json_lines, numbered_lines
from perspective_rag.types import Perspective


def test_blank_lines_are_passed_over_and_counted(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffone\r\n\n  \nfour".encode())
    assert [(n, line.strip()) for n, line in numbered_lines(path)] == [(1, "one"), (4, "four")]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_every_object_has_its_place(tmp_path, name):
    path = tmp_path / name
    data = b'{"a": 1}\n\n{"a": 2}\n'
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert list(json_lines(path)) == [(f"{path}:1", {"a": 1}), (f"{path}:3", {"a": 2})]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x1c"])
def test_other_separators_are_part_of_a_text(tmp_path, separator):
    path = tmp_path / "a.jsonl"
    text = f"one{separator}two"
    path.write_text(json.dumps({"a": text}, ensure_ascii=False), "utf-8")
    assert [row for _, row in json_lines(path)] == [{"a": text}]
    question = AuditQuestion("1", "q", (Perspective("p", text), Perspective("o", "other")))
    write_audit_questions([question], path)
    assert read_audit_questions(path) == [question]


WHOLE = gzip.compress(b'{"a": 1}\n' * 1000, mtime=0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a": 1}\n[1]', r"a\.jsonl:2: expected a JSON object, got list"),
        (b'{"a": 1}\n\n{"a"', r"a\.jsonl:3 is not valid JSON"),
        (b"\xff\xfe", "cannot be read"),
        (WHOLE[:-20], "cannot be read"),
        (WHOLE[:15] + b"xx" + WHOLE[17:], "cannot be read"),
        (None, r"a\.jsonl cannot be read"),
    ],
)
def test_what_is_wrong_has_its_place(tmp_path, data, message):
    if data is not None:
        (tmp_path / "a.jsonl").write_bytes(data)
    with pytest.raises(CorpusError, match=message):
        list(json_lines(tmp_path / "a.jsonl"))
