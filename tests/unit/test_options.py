"""One meaning for each knob; what cannot be used is refused with the right name."""

from __future__ import annotations

import pytest

from perspective_rag.errors import ConfigError
from perspective_rag.options import ALIASES, OPTION_NAMES, Options, PipelineOptions


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("k", 0),
        ("k", 2.5),
        ("k", True),
        ("fetch_k", -1),
        ("mmr_lambda", 1.01),
        ("mmr_lambda", float("nan")),
        ("coverage_weight", -0.1),
        ("min_support", 2),
        ("timeout", 0),
        ("judge_k", -1),
        ("guard_seconds", -1),
        ("strict", "yes"),
        ("projection", "papp"),
        ("coverage", "always"),
        ("fusion", "sum"),
    ],
)
def test_a_bad_value_names_option_value_and_range(name, value):
    with pytest.raises(ConfigError, match=name) as caught:
        PipelineOptions(**{name: value})
    assert str(value) in str(caught.value)


def test_an_unknown_name_suggests_the_right_one():
    with pytest.raises(ConfigError, match="lambda_mult"):
        PipelineOptions().override(lambda_mul=0.5)
    with pytest.raises(ConfigError, match="fetch_k"):
        PipelineOptions.from_dict({"fetchk": 5})


def test_a_wrong_choice_suggests_the_right_one():
    with pytest.raises(ConfigError, match=r"did you mean 'pap\+'|did you mean 'pap'"):
        PipelineOptions(projection="papp")


@pytest.mark.parametrize("alias", ["lambda_mult", "mmr_threshold"])
def test_aliases_have_the_same_direction(alias):
    assert PipelineOptions().override(**{alias: 0.25}).mmr_lambda == 0.25


def test_one_option_under_two_names_is_refused():
    with pytest.raises(ConfigError, match="twice"):
        PipelineOptions().override(lambda_mult=0.5, mmr_lambda=0.4)


def test_round_trip():
    options = PipelineOptions(k=3, projection="pap+", min_support=0.4, timeout=None)
    assert PipelineOptions.from_dict(options.to_dict()) == options


def test_editors_and_type_checkers_know_every_option_and_alias():
    assert Options.__annotations__.keys() == {*OPTION_NAMES, *ALIASES}
