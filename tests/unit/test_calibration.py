"""A calibration: the file, the floors, and the pipeline that lists by it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from perspective_rag import ConfigError, Perspective, local_pipeline
from perspective_rag.judge.support import relevance_floor, relevance_scale, rule_for
from perspective_rag.options import Calibration, PipelineOptions
from perspective_rag.testing import HashEmbedder
from perspective_rag.types import PACKAGED, ListingRule, RelevanceFloor
from tests.calibration_samples import CALIBRATION, OWN, RULE, Shifted, SidesJudge, corpus

SIDES = (Perspective("for", "Zoos are good"), Perspective("against", "Zoos are not good"))


def test_cosines_are_moved_along_both_floors():
    assert OWN.moved(np.array([0.60, 0.75, 0.675]), PACKAGED) == pytest.approx([0.35, 0.55, 0.45])
    same = np.array([0.1, np.nan])
    assert PACKAGED.moved(same, PACKAGED) is not None
    assert np.array_equal(PACKAGED.moved(same, PACKAGED), same, equal_nan=True)
    assert np.isnan(RelevanceFloor(0.4, 0.4).moved(np.array([0.5]), PACKAGED)).all()


def test_the_file_goes_there_and_back(tmp_path):
    path = tmp_path / "deep" / "calibration.json"
    CALIBRATION.save(path)
    assert Calibration.of(path) == Calibration.of(str(path)) == CALIBRATION
    assert Calibration.of(CALIBRATION.to_dict()) == CALIBRATION
    options = PipelineOptions(calibration=str(path))
    assert options.calibrated == CALIBRATION
    assert PipelineOptions.from_dict(json.loads(json.dumps(options.to_dict()))) == options
    assert PipelineOptions().override(calibration=path).calibrated == CALIBRATION


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "perspective-rag calibrate writes such a file"),
        ("no json", "cannot be read"),
        ('{"format": 7}', "format 7 is not 1"),
        ('{"format": 1, "encoder": "x"}', "is no calibration"),
        ('["a"]', "a file or a mapping"),
    ],
)
def test_what_is_no_calibration_is_refused(tmp_path, text, says):
    path = tmp_path / "calibration.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match=says):
        PipelineOptions(calibration=path)


class Known(HashEmbedder):
    relevance_floor = PACKAGED


def test_what_is_given_goes_before_the_calibration_and_that_before_the_encoder():
    assert relevance_floor(Known(), None, CALIBRATION) == CALIBRATION.floor
    assert relevance_floor(Known(), 0.4, CALIBRATION) == RelevanceFloor(0.4, 0.4)
    assert relevance_floor(Known(), None) == PACKAGED
    assert relevance_scale(Known(), None) == PACKAGED
    assert relevance_scale(HashEmbedder(), None) is None
    assert relevance_scale(HashEmbedder(), CALIBRATION) == OWN


def test_a_judge_hears_cosines_on_its_own_scale_or_none():
    for calibration, hears in ((None, False), (CALIBRATION, True)):
        judge = SidesJudge()
        pipeline = local_pipeline(
            corpus(), embedder=Shifted(), judge=judge, calibration=calibration, k=3
        )
        result = pipeline.retrieve(
            "Are zoos in the town good?", perspectives=[each.text for each in SIDES]
        )
        told = np.array(judge.told)
        assert np.isfinite(told).all() if hears else np.isnan(told).all()
    own = [c.scores["relevance"] for c in result.candidates]
    assert set(np.round(OWN.moved(np.array(own), PACKAGED), 6)) <= set(np.round(told, 6))


def test_the_calibrated_rule_lists_and_min_support_goes_before_it():
    def least(exclusive=True, **given):
        return rule_for(SidesJudge(), SIDES, exclusive=exclusive, **given).threshold

    assert least() == RULE.threshold
    assert least(calibration=CALIBRATION) == 0.9
    assert least(calibration=CALIBRATION, min_support=0.4) == 0.4
    assert least(exclusive=False, calibration=CALIBRATION) == 0.3  # read alone: as the judge says


def test_a_pipeline_lists_by_the_calibrated_rule():
    def listed(**options):
        pipeline = local_pipeline(
            corpus(), embedder=HashEmbedder(), judge=SidesJudge(), k=30, **options
        )
        result = pipeline.retrieve(
            "Are zoos in the town good?", perspectives=[each.text for each in SIDES]
        )
        return int(result.coverage.listed.sum())

    low = Calibration("mine", "judge", OWN, OWN, ListingRule(0.2, 0.1))
    assert listed(relevance_floor=-1.0) == 0
    assert listed(relevance_floor=-1.0, calibration=low) > 10
