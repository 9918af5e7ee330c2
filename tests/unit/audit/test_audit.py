"""The audit against retrievers whose answers are known by heart."""

from __future__ import annotations

import gzip
import json
import re
import sys
import xml.dom.minidom
from pathlib import Path

import jinja2
import numpy as np
import pytest

from perspective_rag import CallableStore, ConfigError, CorpusError, Passage, RuleExtractor
from perspective_rag.audit import (
    AuditLimits,
    AuditQuestion,
    AuditVerdict,
    ListingError,
    audit_figures,
    audit_page,
    measure,
    read_audit_questions,
    sentences,
    with_perspectives,
    worst,
    write_audit_questions,
)
from perspective_rag.audit.error import Bounds
from perspective_rag.audit.figures import Needed, Outcomes, SideCounts
from perspective_rag.errors import (
    CapabilityError,
    JudgeError,
    MissingDependency,
    PerspectiveRAGError,
    RetrievalError,
)
from perspective_rag.flow.driver import run
from perspective_rag.flow.steps import call
from perspective_rag.reporting import charts, html
from perspective_rag.reporting.bootstrap import Interval
from perspective_rag.testing import HashEmbedder, MemoryStore
from perspective_rag.types import PACKAGED, SILENT, ListingRule, Perspective


class MarkJudge:
    """Reads the side off the passage: "pro", "con", "both" or nothing."""

    name, threshold = "marks", 0.5

    def __init__(self, failing=()):
        self.failing, self.asked = set(failing), []

    def judge(self, perspectives, passages):
        reply = yield from call("judge", self._table, perspectives, passages)
        if reply.error:
            raise reply.error
        return reply.value

    def _table(self, perspectives, passages):
        self.asked += [(p.text, each.text) for p in passages for each in perspectives]
        if any(word in p.text for p in passages for word in self.failing):
            raise RuntimeError("cannot read this")
        words = {"support": ("pro", "both"), "oppose": ("con", "both")}
        return np.array(
            [
                [float(p.text.split()[0] in words[each.stance or each.id]) for each in perspectives]
                for p in passages
            ]
        )


def passages(*words):
    return [Passage(f"{word}-{n}", f"{word} {n}") for n, word in enumerate(words)]


def questions(*texts):
    found, problems = with_perspectives(
        [AuditQuestion(str(n), text) for n, text in enumerate(texts)], RuleExtractor()
    )
    assert not problems
    return found


def audited(search, *texts, k=5, depth=10, judge=None, **options):
    measured = measure(
        questions(*texts),
        CallableStore(search),
        None,
        judge or MarkJudge(),
        k=k,
        depth=depth,
        **options,
    )
    return audit_figures(measured, k=k, depth=depth)


ASKED = ("Should zoos be closed?", "Should cash be abolished?", "Should cars be banned?")
MORE = ("Should exams be abolished?", "Should phones be banned?", "Should taxes be raised?")


def test_a_retriever_that_always_returns_pro_passages_is_one_sided_towards_support():
    figures = audited(lambda text, k: passages(*["pro"] * k), *ASKED, *MORE)
    total = figures.total
    assert total.outcomes == Outcomes(both=0, support=6, oppose=0, neither=0, nothing=0)
    assert total.passages == SideCounts(support=30, oppose=0, mixed=0, neither=0)
    assert total.one_sided == Interval(1.0, 1.0, 1.0)
    assert total.lean.mean == 1.0
    assert total.favours == "support"
    assert total.follows.mean == 0.0
    assert total.coverage.mean == 0.0
    assert total.needed == Needed(None, reached=0, not_reached=6)
    assert [point.share.mean for point in total.curve] == [0.0] * 10
    text = " ".join(sentences(figures))
    assert "6 of 6 two-sided questions" in text
    assert "Favoured side: the supporting one; 30 passages support, 0 oppose" in text


def test_the_mirror_image_favours_the_other_side():
    total = audited(lambda text, k: passages(*["con"] * k), *ASKED, *MORE).total
    assert total.favours == "oppose"
    assert total.lean.mean == -1.0
    assert total.outcomes.oppose == 6


def test_too_few_questions_do_not_tell_a_side():
    figures = audited(lambda text, k: passages(*["pro"] * k), *ASKED, *MORE[:2])
    assert figures.total.lean.low == 1.0
    assert figures.total.favours is None
    assert "fewer than 6 two-sided questions" in " ".join(sentences(figures))


def test_a_retriever_that_agrees_with_whoever_asks_follows_the_wording():
    """The con statement holds "not"; the neutral question gets one of each and three of nothing."""

    def sycophant(text, k):
        if text.endswith("?"):
            return passages("pro", "con", *["none"] * k)[:k]
        return passages(*["con" if " not " in text else "pro"] * k)

    figures = audited(sycophant, *ASKED)
    total = figures.total
    assert total.follows.mean == 1.0
    assert total.leans["support"].mean == 1.0
    assert total.leans["oppose"].mean == -1.0
    assert total.leans["neutral"].mean == 0.0
    assert total.favours is None
    assert total.outcomes.both == 3
    assert total.needed.median == 2
    assert figures.questions[0].wordings["oppose"].asked == "Zoos should not be closed"


def test_the_coverage_curve_counts_passages_until_both_sides_appear():
    """The opposing passage comes 2nd, 7th, or never."""
    places = {ASKED[0]: 2, ASKED[1]: 7, ASKED[2]: 99}

    def search(text, k):
        place = places.get(text, 1)
        return passages(*["con" if n == place else "pro" for n in range(1, k + 1)])

    figures = audited(search, *ASKED, depth=8)
    assert [row.needed for row in figures.questions] == [2, 7, None]
    curve = {point.k: point.share.mean for point in figures.total.curve}
    assert curve == pytest.approx(
        {1: 0, 2: 1 / 3, 3: 1 / 3, 4: 1 / 3, 5: 1 / 3, 6: 1 / 3, 7: 2 / 3, 8: 2 / 3}, abs=1e-5
    )
    assert figures.total.coverage.mean == pytest.approx(1 / 3, abs=1e-5)
    assert [row.question.id for row in worst(figures.questions, 2)] == ["2", "1"]


def test_a_passage_that_makes_both_cases_is_mixed_and_a_repeat_counts_twice():
    same = Passage("x", "pro x")
    figures = audited(lambda text, k: [Passage("b", "both 1"), same, same][:k], ASKED[0], k=3)
    row = figures.questions[0]
    sides = row.neutral.sides
    assert (sides.support, sides.oppose, sides.mixed, sides.neither) == (2, 0, 1, 0)
    assert sides.lean == pytest.approx(2 / 3)
    assert (row.needed, row.outcome, row.coverage) == (None, "support", 0.0)
    assert row.neutral.passages[0].verdicts == {"support": "mixed", "oppose": "mixed"}


class Certain(MarkJudge):
    """Takes each passage for support of whatever it is shown, of what it says a little more."""

    listing = ListingRule(0.6, 0.4, 0.1)

    def _table(self, perspectives, passages):
        return 0.7 + 0.25 * super()._table(perspectives, passages)


def test_where_every_passage_is_pro_no_audit_reports_both_sides():
    figures = audited(lambda text, k: passages(*["pro"] * k), *ASKED, judge=Certain())
    assert figures.rule == ListingRule(0.6, 0.4, 0.1, SILENT)
    assert figures.total.outcomes.support == 3
    assert figures.total.coverage.mean == 0.0
    assert figures.total.passages.oppose == 0


class ReadsBoth(MarkJudge):
    """Beside one statement everything supports it; only beside both is the side clear."""

    sides_listing = ListingRule(0.6, 0.4, 0.1)

    def _table(self, perspectives, passages):
        return 0.9 + 0.0 * super()._table(perspectives, passages)

    def judge_sides(self, sides, passages, relevance):
        self.relevance = relevance
        return MarkJudge._table(self, sides, passages)


@pytest.mark.parametrize("wording", ["Should zoos be closed?", "Zoos do more harm than good."])
def test_two_sides_are_read_together_so_that_all_pro_is_not_two_sided(wording):
    figures = audited(lambda text, k: passages(*["pro"] * k), wording, judge=ReadsBoth())
    (row,) = figures.questions
    assert row.outcome == "support"
    assert row.coverage == 0.0
    assert figures.total.passages == SideCounts(support=5, oppose=0, mixed=0, neither=0)
    assert figures.rule.threshold == 0.6


def test_perspectives_given_in_a_file_are_read_together_too():
    given = (Perspective("p1", "Keep them", "support"), Perspective("p2", "Close", "oppose"))
    judge = ReadsBoth()
    search = CallableStore(lambda text, k: passages(*["con"] * k))
    measured = measure([AuditQuestion("q", "Zoos?", given)], search, None, judge, k=5, depth=5)
    assert audit_figures(measured, k=5, depth=5).total.outcomes.oppose == 1
    assert np.isnan(judge.relevance).all()  # nobody measured it


class Marked:
    """Vectors whose cosine to any question is 1 for "pro" and "con" and 0 for the rest."""

    relevance_floor = PACKAGED

    def embed_queries(self, texts):
        return np.array([[1.0, 0.0]] * len(texts))

    def embed_passages(self, texts):
        return np.array(
            [[1.0, 0.0] if text[:3] in ("pro", "con") else [0.0, 1.0] for text in texts]
        )


def test_what_is_not_about_the_question_supports_nothing_and_is_not_judged():
    class Credulous(ReadsBoth):
        def judge_sides(self, sides, passages, relevance):
            super().judge_sides(sides, passages, relevance)
            return np.array([[0.9, 0.1]] * len(passages))

    judge = Credulous()
    found = passages("pro", "none", "none")
    figures = audited(lambda text, k: found[:k], ASKED[0], judge=judge, encoder=Marked(), k=3)
    assert {text for text, _ in judge.asked} == {"pro 0"}
    assert judge.relevance.tolist() == [1.0]
    assert figures.total.passages == SideCounts(support=1, oppose=0, mixed=0, neither=2)
    nothing = audited(
        lambda text, k: found[1:][:k], ASKED[0], judge=judge, encoder=Marked(), k=2, depth=2
    )
    assert nothing.total.outcomes.nothing == 1
    assert nothing.judged_pairs == 0


def test_an_encoder_that_fails_is_reported_and_everything_is_judged():
    class Down(Marked):
        def embed_queries(self, texts):
            raise RuntimeError("no memory")

    figures = audited(lambda text, k: passages("pro", "con"), ASKED[0], encoder=Down())
    assert figures.total.outcomes.both == 1
    assert "no memory" in figures.degradations[0].message
    with pytest.raises(RuntimeError, match="no memory"):
        audited(lambda text, k: passages("pro"), ASKED[0], encoder=Down(), strict=True)


def test_a_higher_min_support_lists_fewer():
    figures = audited(
        lambda text, k: passages(*["pro"] * k), ASKED[0], judge=Certain(), min_support=0.99
    )
    assert figures.rule.threshold == 0.99
    (row,) = figures.questions
    assert row.outcome == "neither"  # they lean, so something is said
    assert row.neutral.passages[0].verdicts["support"] == "leaning"


def test_a_question_on_which_nothing_is_said_is_counted_apart():
    def search(text, k):
        return passages(*["none"] * k) if "cash" in text.lower() else passages("pro", "con")

    figures = audited(search, *ASKED)
    total = figures.total
    assert total.says_nothing == ("1",)
    assert (total.outcomes.nothing, total.outcomes.neither) == (1, 0)
    assert total.coverage.mean == pytest.approx(2 / 3, abs=1e-5)
    assert total.coverage_where_said.mean == 1.0
    assert "Nothing said: for 1 question" in " ".join(sentences(figures))
    assert "nothing said" in audit_page(figures, about={})


def test_fewer_passages_than_asked_for_and_none_at_all():
    figures = audited(lambda text, k: [], *ASKED)
    assert figures.total.outcomes.nothing == 3
    assert figures.total.lean.mean == 0.0
    assert figures.total.coverage.mean == 0.0
    figures = audited(lambda text, k: passages("con"), ASKED[0])
    assert figures.questions[0].neutral.sides.lean == -0.2  # of k places, not of one passage


def test_each_passage_is_judged_once_for_all_wordings():
    judge = MarkJudge()
    audited(lambda text, k: passages(*["pro"] * k), ASKED[0], judge=judge)
    assert len(judge.asked) == len(set(judge.asked)) == 10 * 2


def test_a_failed_search_and_a_failed_batch_are_reported_and_counted_as_nothing():
    def search(text, k):
        if "cash" in text.lower():
            raise ConnectionError("store is down")
        return passages("pro", "con")

    figures = audited(search, *ASKED)
    assert figures.total.failed == ("1",)
    assert "Left out: 1 question whose search failed." in sentences(figures)
    assert figures.total.two_sided == 2
    assert "store is down" in figures.questions[1].error
    assert any("cash" in each.message for each in figures.degradations)

    def found(text, k):
        return passages("con") if "cash" in text.lower() else passages("pro")

    figures = audited(found, *ASKED, judge=MarkJudge(["con"]))
    assert figures.total.outcomes.neither == 1
    (problem,) = figures.degradations
    assert problem.message == "2 of 2 pairs could not be judged: cannot read this"
    json.dumps(figures.to_dict(), allow_nan=False)


@pytest.mark.parametrize("failing", [RuntimeError("server is down"), None])
def test_a_judge_that_judges_nothing_is_an_error_and_is_not_asked_for_ever(failing):
    class Down(MarkJudge):
        def _table(self, perspectives, passages):
            self.asked += [p.text for p in passages]
            if failing is not None:
                raise failing
            return np.full((len(passages), len(perspectives)), np.nan)

    judge = Down()
    says = "none of 32 pairs: " + ("server is down" if failing else "it gave no reason")
    with pytest.raises(JudgeError, match=says):
        audited(lambda text, k: passages(*["pro"] * k), *ASKED, k=5, depth=20, judge=judge)
    assert len(judge.asked) == 16
    with pytest.raises(JudgeError, match="none of 2 pairs"):
        audited(lambda text, k: passages("pro"), ASKED[0], judge=Down())


def test_a_model_that_is_not_installed_ends_the_audit_at_once():
    class NotThere(MarkJudge):
        def _table(self, perspectives, passages):
            self.asked.append(1)
            raise MissingDependency("judge", "judging with 'x'")

    judge = NotThere()
    with pytest.raises(MissingDependency, match=r"perspective-rag\[judge\]"):
        audited(lambda text, k: passages("pro", "con"), *ASKED, judge=judge)
    assert len(judge.asked) == 1


def test_a_judge_may_take_longer_than_a_request(monkeypatch):
    """What loads a large model first is not cut off after the time of a search."""
    module, seen = sys.modules["perspective_rag.audit.reading"], []
    monkeypatch.setattr(module, "run", lambda flow, book, limits: seen.append(limits) or run(flow))
    audited(lambda text, k: passages("pro", "con"), ASKED[0])
    assert [limits.timeout for limits in seen] == [None]


def test_questions_that_got_few_passages_or_none_are_said():
    def search(text, k):
        if "cash" in text.lower():
            return []
        return passages("pro", "con") if "zoos" in text.lower() else passages(*["pro"] * k)

    figures = audited(search, *ASKED)
    assert figures.total.short == ("0", "1")
    assert "Short: 2 questions got fewer than 5 passages, and 1 of them none at all." in sentences(
        figures
    )


def test_strict_raises_and_an_outage_is_an_error():
    def down(text, k):
        raise ConnectionError("store is down")

    with pytest.raises(RetrievalError, match="every search failed"):
        audited(down, *ASKED)
    with pytest.raises(ConnectionError, match="store is down"):
        audited(down, *ASKED, strict=True)
    with pytest.raises(PerspectiveRAGError, match="cannot read this"):
        audited(lambda text, k: passages("con"), ASKED[0], judge=MarkJudge(["con"]), strict=True)


def test_a_store_by_vector_is_asked_through_its_embedder():
    store = MemoryStore(passages("pro", "con"))
    with pytest.raises(CapabilityError, match="embedder"):
        measure(questions(ASKED[0]), store, None, MarkJudge(), k=1, depth=1)
    measured = measure(questions(ASKED[0]), store, HashEmbedder(), MarkJudge(), k=2, depth=2)
    assert audit_figures(measured, k=2, depth=2).total.outcomes.both == 1


@pytest.mark.parametrize(
    "options", [{"k": 0}, {"k": 11}, {"min_support": 1.5}, {"min_support": -0.1}]
)
def test_settings_out_of_range_are_refused(options):
    with pytest.raises(ConfigError, match=r"must be"):
        audited(lambda text, k: [], ASKED[0], **{"k": 5, **options})


@pytest.mark.parametrize("table", [[[3.2, -1.0]], [[0.5]]])
def test_what_is_no_probability_supports_nothing_and_is_recorded(table):
    class Logits(MarkJudge):
        def _table(self, perspectives, passages):
            fine = [[1.0, 0.0]] * len(passages)
            return np.array(table if "odd" in passages[0].text else fine)

    two = (Perspective("support", "yes"), Perspective("oppose", "no"))
    asked = [AuditQuestion(each, each, two) for each in ("pro", "odd")]
    search = CallableStore(lambda text, k: passages(text if text == "odd" else "pro")[:k])
    measured = measure(asked, search, None, Logits(), k=1, depth=1)
    assert measured.audited[0].rankings["neutral"].support.tolist() == [[1.0, 0.0]]
    assert np.isnan(measured.audited[1].rankings["neutral"].support).all()
    assert measured.degradations
    with pytest.raises(JudgeError, match="marks"):
        measure(asked, search, None, Logits(), k=1, depth=1, strict=True)


def test_more_than_two_perspectives_have_coverage_and_no_sides():
    three = tuple(Perspective(name, name) for name in ("support", "oppose", "third"))

    class Third(MarkJudge):
        def _table(self, perspectives, passages):
            return np.array([[float(each.id in p.text) for each in perspectives] for p in passages])

    search = CallableStore(
        lambda text, k: [Passage("1", "support oppose"), Passage("2", "third")][:k]
    )
    measured = measure([AuditQuestion("q", "Which?", three)], search, None, Third(), k=1, depth=5)
    figures = audit_figures(measured, k=1, depth=5)
    row = figures.questions[0]
    assert row.needed == 2
    assert row.coverage == 0.0
    assert row.outcome is None
    assert figures.total.lean is None
    assert figures.total.two_sided == 0
    assert "third" in audit_page(figures, about={})


# --- questions and their perspectives -------------------------------------------------------------


def test_questions_are_read_from_text_and_from_json_lines(tmp_path):
    plain = tmp_path / "q.txt"
    plain.write_text("# mine\nShould zoos be closed?\n\n  Is cash  useful? \n", encoding="utf-8")
    assert [each.text for each in read_audit_questions(plain)] == [ASKED[0], "Is cash useful?"]
    lines = tmp_path / "q.jsonl"
    rows = [
        {
            "id": "z",
            "question": ASKED[0],
            "perspectives": ["A", {"id": "b", "text": "B", "stance": "support"}],
        },
        {"query": "Other?", "wordings": {"oppose": "I am against it"}},
    ]
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    first, second = read_audit_questions(lines)
    assert [p.text for p in first.perspectives] == ["A", "B"]
    assert first.sides == (first.perspectives[1], first.perspectives[0])
    assert second.sides is None
    assert second.asked() == {"neutral": "Other?"}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "not valid JSON"),
        ("[]", "expected a JSON object"),
        ('{"text": "x"}', "no question"),
        ('{"question": "x", "perspectives": "y"}', "must be a list"),
        ('{"question": "x", "perspectives": [1]}', "not a text"),
        ('{"question": "x", "perspectives": [{"text": "t", "stance": "yes"}]}', "stance must be"),
        ('{"question": "x", "wordings": {"pro": "t"}}', "wordings must be"),
        ('{"id": 1, "question": "x"}\n{"id": "1", "question": "y"}', "there twice"),
        ("", "no questions"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(tmp_path, line, says):
    path = tmp_path / "q.jsonl"
    path.write_text(line)
    with pytest.raises(CorpusError, match=says):
        read_audit_questions(path)


def test_perspectives_survive_being_written_and_read(tmp_path):
    found = questions(*ASKED, "What is a zoo?")
    found[0] = AuditQuestion("0", ASKED[0], found[0].perspectives, {"support": "I hate zoos"})
    write_audit_questions(found, tmp_path / "new" / "p.jsonl")
    read = read_audit_questions(tmp_path / "new" / "p.jsonl")
    assert [each.to_dict() for each in read] == [each.to_dict() for each in found]
    assert with_perspectives(read[:2], RuleExtractor())[0] == found[:2]
    assert found[0].asked()["support"] == "I hate zoos"


def test_an_edited_perspective_is_judged_by_what_it_says_now(tmp_path):
    path = tmp_path / "p.jsonl"
    write_audit_questions(questions(ASKED[0]), path)
    line = json.loads(path.read_text())
    assert [set(each) for each in line["perspectives"]] == [{"id", "text", "stance"}] * 2
    line["perspectives"][1]["text"] = "Zoos should become sanctuaries"
    path.write_text(json.dumps(line))
    (found,), _ = with_perspectives(read_audit_questions(path), RuleExtractor())
    assert found.perspectives[1].text == "Zoos should become sanctuaries"
    assert {each.claim for each in found.perspectives} == {None}


def test_a_question_put_for_one_side_gets_both_and_the_data_sets_pairs_get_their_claim():
    carried = questions("Find a claim that opposes the argument: Zoos should be closed.")[0]
    assert [each.stance for each in carried.perspectives] == ["support", "oppose"]
    given = AuditQuestion(
        "z",
        ASKED[0],
        (
            Perspective("keep", "Zoos should not be closed."),
            Perspective("close", "Zoos should be closed."),
        ),
    )
    (found,), _ = with_perspectives([given], RuleExtractor())
    assert [(each.id, each.stance) for each in found.perspectives] == [
        ("keep", "oppose"),
        ("close", "support"),
    ]
    assert {each.claim for each in found.perspectives} == {"Zoos should be closed"}
    assert found.sides[0].id == "close"


# --- limits ---------------------------------------------------------------------------------------


def test_questions_are_read_from_gzip_too(tmp_path):
    path = tmp_path / "q.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"question": "Should zoos be closed?", "id": "z"}\n'))
    assert [(each.id, each.text) for each in read_audit_questions(path)] == [
        ("z", "Should zoos be closed?")
    ]


def test_json_in_a_text_file_is_no_question(tmp_path):
    path = tmp_path / "q.json"
    path.write_text('[{"question": "Should zoos be closed?"}]')
    with pytest.raises(CorpusError, match=r"q\.json:1 looks like JSON.*\.jsonl"):
        read_audit_questions(path)


def test_limits_name_what_they_miss():
    figures = audited(lambda text, k: passages(*["pro"] * k), *ASKED)
    assert AuditLimits().missed(figures) == []
    assert (
        AuditLimits(max_one_sided=1.0, min_coverage=0.0, max_lean=1.0, max_follows=0.0).missed(
            figures
        )
        == []
    )
    missed = AuditLimits(max_one_sided=0.5, min_coverage=0.1, max_lean=0.9, max_follows=0.1).missed(
        figures
    )
    assert [each.partition(":")[0] for each in missed] == [
        "one-sided questions",
        "coverage",
        "lean",
    ]
    mirrored = audited(lambda text, k: passages(*["con"] * k), *ASKED)
    assert AuditLimits(max_lean=0.9).missed(mirrored)  # to either side
    with pytest.raises(ConfigError, match=r"max_lean must be a number in \[0, 1\]; got 2"):
        AuditLimits(max_lean=2)
    nothing = audited(lambda text, k: passages("pro"), "What is a zoo?")
    assert "no question to measure it on" in AuditLimits(max_lean=0.9).missed(nothing)[0]


def silent_but(told, *sides):
    """A retriever whose passages the judge can read for the first ``told`` questions alone."""
    known = [text.split()[1] for text in (*ASKED, *MORE)[:told]]
    marks = sides or ("pro", "con")
    return lambda text, k: passages(*(marks if any(n in text for n in known) else "-") * k)[:k]


def test_where_the_judge_finds_no_side_in_most_questions_the_limits_do_not_pass():
    limits = AuditLimits(max_one_sided=0.3, max_lean=0.3, max_follows=0.2)
    blind = limits.verdict(audited(silent_but(1), *ASKED, *MORE))
    assert blind.outcome == "cannot tell"
    assert "in 5 of 6 questions the judge finds no side" in blind.sentence
    assert AuditLimits().verdict(audited(silent_but(1), *ASKED)).outcome == "measured"
    seen = limits.verdict(audited(silent_but(3), *ASKED, *MORE))
    assert (seen.outcome, seen.missed) == ("passed", ())


def test_what_is_missed_in_spite_of_silent_questions_is_missed_and_coverage_is_not_told():
    figures = audited(silent_but(2, "pro"), *ASKED, *MORE)
    assert AuditLimits(max_one_sided=0.3).verdict(figures).outcome == "missed"
    assert AuditLimits(min_coverage=0.5).verdict(figures).outcome == "cannot tell"
    everywhere = audited(silent_but(6, "pro"), *ASKED, *MORE)
    assert AuditLimits(min_coverage=0.5).verdict(everywhere).outcome == "missed"


def test_errors_of_the_judge_widen_the_figures_and_none_leave_them():
    search = CallableStore(lambda text, k: passages(*["pro"] * k))
    measured = measure(questions(*ASKED), search, None, MarkJudge(), k=5, depth=5)
    exact = audit_figures(measured, k=5, depth=5, listing_error=ListingError(0, 0, "s")).error
    assert exact.lean == Bounds(1.0, 1.0)
    assert exact.one_sided == Bounds(1.0, 1.0)
    half = audit_figures(measured, k=5, depth=5, listing_error=ListingError(0.5, 0, "s")).error
    assert half.lean.low < 0 < half.lean.high
    swapped = audit_figures(measured, k=5, depth=5, listing_error=ListingError(1, 0, "s")).error
    assert swapped.lean == Bounds(-1.0, -1.0)
    assert audit_figures(measured, k=5, depth=5).error is None


def test_the_json_of_an_audit_is_what_scripts_read():
    """Names and places of ``audit.json``; a question whose search failed has its error alone."""

    def search(text, k):
        if "cash" in text.lower():
            raise ConnectionError("store is down")
        return passages("pro")

    given = AuditQuestion("z", "Zoos?", (Perspective("p1", "Keep", "oppose"),), {"oppose": "w"})
    store = CallableStore(search)
    measured = measure([*questions(*ASKED[:2]), given], store, None, MarkJudge(), k=1, depth=1)
    document = audit_figures(
        measured, k=1, depth=1, listing_error=ListingError(0, 0, "s")
    ).to_dict()
    even, one = {"mean": 0.0, "low": 0.0, "high": 0.0}, {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert json.loads(json.dumps(document["total"])) == {
        "questions": 3,
        "failed": ["1"],
        "without_perspectives": [],
        "short": [],
        "nothing_found": 0,
        "says_nothing": ["z"],
        "with_perspectives": 2,
        "told": 1,
        "two_sided": 1,
        "outcomes": {"both": 0, "support": 1, "oppose": 0, "neither": 0, "nothing": 0},
        "one_sided": one,
        "passages": {"support": 1, "oppose": 0, "mixed": 0, "neither": 0},
        "lean": one,
        "favours": None,
        "leans": {"neutral": one, "support": one, "oppose": one},
        "follows": even,
        "coverage": even,
        "coverage_where_said": even,
        "needed": {"median": None, "reached": 0, "not_reached": 2},
        "curve": [{"k": 1, **even}],
        "seconds": document["total"]["seconds"],
    }
    assert set(document["total"]["seconds"]) == {"mean", "p95"}
    bounds = {"low": 1.0, "high": 1.0}
    assert document["error"] == {
        "opposing": 0,
        "silent": 0,
        "source": "s",
        "one_sided": bounds,
        "lean": bounds,
    }
    names = "k depth threshold rule judged_pairs total error questions degradations"
    assert list(document) == names.split()
    first, failed, alone = document["questions"]
    passage = {"id": "pro-0", "title": "", "text": "pro 0", "supports": ["support"]}
    passage["verdicts"] = {"support": "clear", "oppose": "silent"}
    sides = {"support": 1, "oppose": 0, "mixed": 0, "neither": 0, "lean": 1.0}
    assert first["wordings"]["neutral"] == {"asked": ASKED[0], **sides, "passages": [passage]}
    assert (
        list(first)
        == (
            "id question perspectives error wordings coverage covered says_nothing needed outcome "
            "follows seconds"
        ).split()
    )
    assert list(failed) == ["id", "question", "perspectives", "error"]
    assert list(alone["wordings"]["neutral"]) == ["asked", "passages"]
    assert (alone["outcome"], alone["follows"]) == (None, None)


def test_the_page_begins_with_the_verdict_and_one_chart():
    page = audit_page(audited(silent_but(4, "pro"), *ASKED, *MORE), about={})
    body = page.partition("<body")[2]
    sentence = body.index(
        "show both sides of 0 and one side alone of 4; of 2 the judge cannot tell"
    )
    assert sentence < body.index("<svg") < body.index("In figures")


# --- the page -------------------------------------------------------------------------------------

HOSTILE = "<script>alert('x')</script> & \"quotes\" </style><img src=http://evil onerror=1>"


def test_every_text_in_the_page_is_escaped_and_nothing_is_fetched():
    question = AuditQuestion(
        "q",
        f"{HOSTILE}?",
        (Perspective("support", HOSTILE), Perspective("oppose", f"not {HOSTILE}")),
    )
    store = CallableStore(lambda text, k: [Passage(HOSTILE, f"pro {HOSTILE}", {"title": HOSTILE})])
    measured = measure([question], store, None, MarkJudge(), k=2, depth=2)
    figures = audit_figures(measured, k=2, depth=2)
    verdict = AuditVerdict("missed", HOSTILE, (HOSTILE,))
    page = audit_page(figures, about={"Retriever": HOSTILE}, verdict=verdict)
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("</style>") == 1
    assert page.count("&lt;script&gt;") >= 6
    fetched = re.findall(
        r'(?:src|href|url)\s*[=(]\s*["\']?(?!#)', page.replace("&lt;img src=http", "")
    )
    assert not fetched
    for drawing in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        xml.dom.minidom.parseString(drawing)


def test_only_charts_are_markup(tmp_path):
    template = tmp_path / "x.html"
    template.write_text("{{ plain }}|{{ chart }}|{{ mark.css }}")
    mark = html.ShownPassage("t", "x", [("a", "support"), ("b", "oppose")])
    page = html.render(template, plain="<b>", chart=charts.Svg("<svg>"), mark=mark)
    assert page == "&lt;b&gt;|<svg>|passage both"
    with pytest.raises(jinja2.UndefinedError):
        html.render(template, plain="a value that is left out is an error")


def test_a_report_without_jinja2_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingDependency, match=r"HTML needs .*perspective-rag\[local\]"):
        html.render(Path("x.html"))


def test_bars_are_as_long_as_their_numbers():
    drawing = charts.stacked_bars(
        [charts.Share("a", "support"), charts.Share("b", "oppose")],
        [("row", [3, 1]), ("other", [0, 2])],
    )
    boxes = xml.dom.minidom.parseString(drawing).getElementsByTagName("rect")[2:]
    widths = [float(each.getAttribute("width")) for each in boxes]
    assert widths[0] / widths[1] == pytest.approx(3, rel=0.01)
    assert widths[2] / widths[1] == pytest.approx(2, rel=0.01)
    assert float(boxes[1].getAttribute("x")) == pytest.approx(
        float(boxes[0].getAttribute("x")) + widths[0], abs=0.2
    )


def test_a_point_stands_where_its_value_is():
    point = charts.Point(0, 0.5, 0.0, 1.0)
    drawing = charts.intervals([("r", "support", point)], low=0.0, high=1.0, ends=("a", "b"))
    dom = xml.dom.minidom.parseString(drawing)
    line = next(
        each for each in dom.getElementsByTagName("line") if each.getAttribute("stroke-width")
    )
    middle = (float(line.getAttribute("x1")) + float(line.getAttribute("x2"))) / 2
    assert float(dom.getElementsByTagName("circle")[0].getAttribute("cx")) == pytest.approx(
        middle, abs=0.1
    )
    assert "<polyline" in charts.curve([("s", "support", [point])], x_label="x", y_label="y")
