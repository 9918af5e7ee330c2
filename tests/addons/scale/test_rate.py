"""Progress in lines: how far, how fast, how long still."""

from __future__ import annotations

import pytest

from perspective_rag_scale.rate import RateLines, duration


def test_a_line_every_few_seconds_with_the_rate_of_this_run():
    said, times = [], iter([0.0, 1.0, 5.0, 6.0, 10.0])
    tell = RateLines(said.append, 1_000, "passages", clock=lambda: next(times))
    for done in (500, 510, 550, 560, 700):  # 500 were there before
        tell(done)
    assert said == [
        "550 of 1,000 passages (10 a second, 45 s left)",
        "700 of 1,000 passages (20 a second, 15 s left)",
    ]


def test_nothing_done_yet_has_no_time_left():
    said, times = [], iter([0.0, 9.0])
    tell = RateLines(said.append, 10, "passages", clock=lambda: next(times))
    tell(0)
    tell(0)
    assert said == ["0 of 10 passages (0 a second)"]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (89, "89 s"), (90, "2 min"), (3600, "60 min"), (11_100, "3 h 05 min")],
)
def test_durations(seconds, said):
    assert duration(seconds) == said
