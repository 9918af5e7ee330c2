"""The ledger: what was kept before a kill is there after it, and one process writes."""

from __future__ import annotations

import json

import pytest

from perspective_rag import ConfigError
from perspective_rag_train.append_log import AppendLog


def test_a_ledger_drops_torn_lines_and_lets_one_process_write(tmp_path):
    with AppendLog(tmp_path, "x", {"a": 1}) as ledger:
        ledger.add([("one", 0.5), ("two", {"b": [1]})])
        with pytest.raises(ConfigError, match="another run"):
            AppendLog(tmp_path, "x", {"a": 1})
    with ledger.path.open("ab") as stream:
        stream.write(b'["three", 0.')
    with AppendLog(tmp_path, "x", {"a": 1}) as again:
        assert again.values == {"one": 0.5, "two": {"b": [1]}}
        again.add([("four", 1)])
    assert [json.loads(line)[0] for line in ledger.path.read_text().splitlines()[1:]] == [
        "one",
        "two",
        "four",
    ]
    with AppendLog(tmp_path, "x", {"a": 2}) as other:
        assert other.values == {}
