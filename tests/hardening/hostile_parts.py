"""Parts named on the command line by the tests of this folder."""

from __future__ import annotations

from perspective_rag.testing import RuleJudge


def judge():
    """Finds every passage for the first side."""
    return RuleJudge(lambda passage, side: float(side.stance == "support"))


def broken():
    """Fails with a message that holds whatever a server may send."""
    raise ValueError("gone \x1b]0;title\x07\x1b[2J \u202e password=hunter2word")
