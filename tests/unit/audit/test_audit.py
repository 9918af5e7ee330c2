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
from perspective_rag.audit.figures import Needed, Outcomes, SideCounts, audit_figures, worst
from perspective_rag.audit.intervals import Bounds, Interval, ListingError
from perspective_rag.audit.measure import measure
from perspective_rag.audit.page import audit_page, render
from perspective_rag.audit.questions import (
    AuditQuestion,
    read_audit_questions,
    with_perspectives,
    write_audit_questions,
)
from perspective_rag.audit.verdict import AuditLimits, AuditVerdict, sentences
from perspective_rag.errors import (
    CapabilityError,
    JudgeError,
    MissingDependency,
    PerspectiveRAGError,
    RetrievalError,
)
from perspective_rag.flow.limiter import Limits
from perspective_rag.flow.steps import call
from perspective_rag.testing import HashEmbedder, MemoryStore
from perspective_rag.types import PACKAGED, ListingRule, Perspective


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


def always(word):
    return lambda text, k: passages(*[word] * k)


@pytest.mark.parametrize(
    ("word", "side", "lean"), [("pro", "support", 1.0), ("con", "oppose", -1.0)]
)
def test_a_retriever_that_always_returns_one_side_is_one_sided_towards_it(word, side, lean):
    figures = audited(always(word), *ASKED, *MORE)
    total = figures.total
    none = dict.fromkeys(Outcomes.__slots__, 0)
    assert total.outcomes == Outcomes(**none | {side: 6})
    none = dict.fromkeys(SideCounts.__slots__, 0)
    assert total.passages == SideCounts(**none | {side: 30})
    assert total.one_sided == Interval(1.0, 1.0, 1.0)
    assert (total.lean.mean, total.follows.mean, total.coverage.mean) == (lean, 0.0, 0.0)
    assert total.favours == side
    assert total.needed == Needed(None, reached=0, not_reached=6)
    assert [point.mean for point in total.curve] == [0.0] * 10
    text = " ".join(sentences(figures))
    assert "6 of 6 two-sided questions" in text
    assert f"the {'supporting' if side == 'support' else 'opposing'} one; " in text
    few = audited(always(word), *ASKED, *MORE[:2])
    assert few.total.favours is None
    assert "fewer than 6 two-sided questions" in " ".join(sentences(few))


def test_how_a_judge_is_asked():
    """Each passage once for all wordings, without a time limit: it may load a large model first."""
    judge = MarkJudge()
    audited(always("pro"), ASKED[0], judge=judge)
    assert len(judge.asked) == len(set(judge.asked)) == 10 * 2
    assert measure.__globals__["_UNTIMED"] == Limits(timeout=None)


def test_a_store_by_vector_is_asked_through_its_embedder():
    store = MemoryStore(passages("pro", "con"))
    with pytest.raises(CapabilityError, match="embedder"):
        measure(questions(ASKED[0]), store, None, MarkJudge(), k=1, depth=1)
    measured = measure(questions(ASKED[0]), store, HashEmbedder(), MarkJudge(), k=2, depth=2)
    assert audit_figures(measured, k=2, depth=2).total.outcomes.both == 1


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
    curve = {point.k: point.mean for point in figures.total.curve}
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
    assert row.neutral.lean == pytest.approx(2 / 3)
    assert (row.needed, row.outcome, row.coverage) == (None, "support", 0.0)
    assert row.neutral.passages[0].verdicts == {"support": "mixed", "oppose": "mixed"}


class ReadsBoth(MarkJudge):
    """Beside one statement everything supports it; only beside both is the side clear."""

    sides_listing = ListingRule(0.6, 0.4, 0.1)

    def _table(self, perspectives, passages):
        return 0.9 + 0.0 * super()._table(perspectives, passages)

    def judge_sides(self, sides, passages, relevance):
        self.relevance = relevance
        return MarkJudge._table(self, sides, passages)


class Marked:
    """Vectors whose cosine to any question is 1 for "pro" and "con" and 0 for the rest."""

    relevance_floor = PACKAGED

    def embed_queries(self, texts):
        return np.array([[1.0, 0.0]] * len(texts))

    def embed_passages(self, texts):
        return np.array(
            [[1.0, 0.0] if text[:3] in ("pro", "con") else [0.0, 1.0] for text in texts]
        )


def test_an_encoder_that_fails_is_reported_and_everything_is_judged():
    class Down(Marked):
        def embed_queries(self, texts):
            raise RuntimeError("no memory")

    figures = audited(lambda text, k: passages("pro", "con"), ASKED[0], encoder=Down())
    assert figures.total.outcomes.both == 1
    assert "no memory" in figures.degradations[0].message
    with pytest.raises(RuntimeError, match="no memory"):
        audited(lambda text, k: passages("pro"), ASKED[0], encoder=Down(), strict=True)


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


def test_strict_raises_and_an_outage_is_an_error():
    def down(text, k):
        raise ConnectionError("store is down")

    with pytest.raises(RetrievalError, match="every search failed"):
        audited(down, *ASKED)
    with pytest.raises(ConnectionError, match="store is down"):
        audited(down, *ASKED, strict=True)
    with pytest.raises(PerspectiveRAGError, match="cannot read this"):
        audited(lambda text, k: passages("con"), ASKED[0], judge=MarkJudge(["con"]), strict=True)


@pytest.mark.parametrize(
    "options", [{"k": 0}, {"k": 11}, {"min_support": 1.5}, {"min_support": -0.1}]
)
def test_settings_out_of_range_are_refused(options):
    with pytest.raises(ConfigError, match=r"must be"):
        audited(lambda text, k: [], ASKED[0], **{"k": 5, **options})


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


def silent_but(told, *sides):
    """A retriever whose passages the judge can read for the first ``told`` questions alone."""
    known = [text.split()[1] for text in (*ASKED, *MORE)[:told]]
    marks = sides or ("pro", "con")
    return lambda text, k: passages(*(marks if any(n in text for n in known) else "-") * k)[:k]


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


HOSTILE = "<script>alert('x')</script> & \"quotes\" </style><img src=http://evil onerror=1>"


class Certain(MarkJudge):
    """Takes each passage for support of whatever it is shown, of what it says a little more."""

    listing = ListingRule(0.6, 0.4, 0.1)

    def _table(self, perspectives, passages):
        return 0.7 + 0.25 * super()._table(perspectives, passages)


def test_a_passage_is_listed_by_the_rule_of_its_judge():
    figures = audited(always("pro"), *ASKED, judge=Certain())
    assert figures.rule == ListingRule(0.6, 0.4, 0.1)
    assert (figures.total.outcomes.support, figures.total.passages.oppose) == (3, 0)
    figures = audited(always("pro"), ASKED[0], judge=Certain(), min_support=0.99)
    assert figures.rule.threshold == 0.99
    (row,) = figures.questions
    assert row.outcome == "neither"  # they lean, so something is said
    assert row.neutral.passages[0].verdicts["support"] == "leaning"


@pytest.mark.parametrize("wording", ["Should zoos be closed?", "Zoos do more harm than good.", ""])
def test_two_sides_are_read_together_so_that_all_pro_is_not_two_sided(wording):
    given = (Perspective("p1", "Keep them", "support"), Perspective("p2", "Close", "oppose"))
    asked = questions(wording) if wording else [AuditQuestion("q", "Zoos?", given)]
    judge = ReadsBoth()
    measured = measure(asked, CallableStore(always("pro")), None, judge, k=5, depth=5)
    figures = audit_figures(measured, k=5, depth=5)
    assert [(row.outcome, row.coverage) for row in figures.questions] == [("support", 0.0)]
    assert figures.total.passages == SideCounts(support=5, oppose=0, mixed=0, neither=0)
    assert figures.rule.threshold == 0.6
    assert np.isnan(judge.relevance).all()  # nobody measured it


def test_what_is_not_about_the_question_supports_nothing_and_is_not_judged():
    judge, found = ReadsBoth(), passages("pro", "none", "none")
    options = {"judge": judge, "encoder": Marked()}
    figures = audited(lambda text, k: found[:k], ASKED[0], k=3, **options)
    assert judge.relevance.tolist() == [1.0]
    assert figures.judged_pairs == 2
    assert figures.total.passages == SideCounts(support=1, oppose=0, mixed=0, neither=2)
    nothing = audited(lambda text, k: found[1:][:k], ASKED[0], k=2, depth=2, **options)
    assert (nothing.total.outcomes.nothing, nothing.judged_pairs) == (1, 0)


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
        audited(always("pro"), *ASKED, k=5, depth=20, judge=judge)
    assert len(judge.asked) == 16
    with pytest.raises(JudgeError, match="none of 2 pairs"):
        audited(lambda text, k: passages("pro"), ASKED[0], judge=Down())
    failing = MissingDependency("judge", "judging with 'x'")
    with pytest.raises(MissingDependency, match=r"perspective-rag\[judge\]"):
        audited(always("pro"), *ASKED, judge=Down())


@pytest.mark.parametrize("table", [[[3.2, -1.0]], [[0.5]]])
def test_what_is_no_probability_supports_nothing_and_is_recorded(table):
    class Logits(MarkJudge):
        def _table(self, perspectives, passages):
            fine = [[1.0, 0.0]] * len(passages)
            return np.array(table if "con" in passages[0].text else fine)

    def search(text, k):
        return passages("con" if "cash" in text.lower() else "pro")

    figures = audited(search, *ASKED[:2], judge=Logits())
    assert [row.outcome for row in figures.questions] == ["support", "neither"]
    assert figures.degradations
    with pytest.raises(JudgeError, match="marks"):
        audited(search, *ASKED[:2], judge=Logits(), strict=True)


def test_few_passages_and_none_are_counted_as_places_left_empty():
    def search(text, k):
        if "cash" in text.lower():
            return []
        return passages("con") if "zoos" in text.lower() else passages(*["pro"] * k)

    figures = audited(search, *ASKED)
    assert figures.total.short == ("0", "1")
    said = "Short: 2 questions got fewer than 5 passages, and 1 of them none at all."
    assert said in sentences(figures)
    assert [row.neutral.lean for row in figures.questions] == [-0.2, 0.0, 1.0]
    assert figures.total.outcomes.nothing == 1


def test_questions_are_read_from_text_and_from_json_lines(tmp_path):
    plain = tmp_path / "q.txt"
    plain.write_text("# mine\nShould zoos be closed?\n\n  Is cash  useful? \n", encoding="utf-8")
    assert [each.text for each in read_audit_questions(plain)] == [ASKED[0], "Is cash useful?"]
    given = ["A", {"id": "b", "text": "B", "stance": "support"}]
    rows = [
        {"id": "z", "question": ASKED[0], "perspectives": given},
        {"query": "Other?", "wordings": {"oppose": "I am against it"}},
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    (tmp_path / "q.jsonl").write_bytes(lines)
    first, second = read_audit_questions(tmp_path / "q.jsonl")
    (tmp_path / "q.jsonl.gz").write_bytes(gzip.compress(lines))
    assert read_audit_questions(tmp_path / "q.jsonl.gz") == [first, second]
    assert [p.text for p in first.perspectives] == ["A", "B"]
    assert first.sides == (first.perspectives[1], first.perspectives[0])
    assert second.sides is None
    assert second.asked() == {"neutral": "Other?"}


@pytest.mark.parametrize(
    ("name", "line", "says"),
    [
        ("q.jsonl", "{", "not valid JSON"),
        ("q.jsonl", "[]", "expected a JSON object"),
        ("q.jsonl", '{"text": "x"}', "no question"),
        ("q.jsonl", '{"question": "x", "perspectives": "y"}', "must be a list"),
        ("q.jsonl", '{"question": "x", "perspectives": [1]}', "not a text"),
        ("q.jsonl", '{"question": "x", "perspectives": [{"text": "t", "stance": "y"}]}', "stance"),
        ("q.jsonl", '{"question": "x", "wordings": {"pro": "t"}}', "wordings must be"),
        ("q.jsonl", '{"id": 1, "question": "x"}\n{"id": "1", "question": "y"}', "there twice"),
        ("q.jsonl", "", "no questions"),
        ("q.json", '[{"question": "x"}]', r"q\.json:1 looks like JSON.*\.jsonl"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(tmp_path, name, line, says):
    (tmp_path / name).write_text(line)
    with pytest.raises(CorpusError, match=says):
        read_audit_questions(tmp_path / name)


def test_perspectives_survive_being_written_read_and_edited(tmp_path):
    path = tmp_path / "new" / "p.jsonl"
    found = questions(*ASKED, "What is a zoo?")
    found[0] = AuditQuestion("0", ASKED[0], found[0].perspectives, {"support": "I hate zoos"})
    write_audit_questions(found, path)
    read = read_audit_questions(path)
    assert [each.to_dict() for each in read] == [each.to_dict() for each in found]
    assert with_perspectives(read[:2], RuleExtractor())[0] == found[:2]
    assert found[0].asked()["support"] == "I hate zoos"
    line = json.loads(path.read_text().splitlines()[0])
    line["perspectives"][1]["text"] = "Zoos should become sanctuaries"
    path.write_text(json.dumps(line))
    (edited,), _ = with_perspectives(read_audit_questions(path), RuleExtractor())
    assert edited.perspectives[1].text == "Zoos should become sanctuaries"
    assert {each.claim for each in edited.perspectives} == {None}, "judged by what it says now"


def test_limits_name_what_they_miss():
    figures = audited(always("pro"), *ASKED)
    within = AuditLimits(max_one_sided=1.0, min_coverage=0.0, max_lean=1.0, max_follows=0.0)
    assert AuditLimits().missed(figures) == within.missed(figures) == []
    beyond = AuditLimits(max_one_sided=0.5, min_coverage=0.1, max_lean=0.9, max_follows=0.1)
    missed = [each.partition(":")[0] for each in beyond.missed(figures)]
    assert missed == ["one-sided questions", "coverage", "lean"]
    assert AuditLimits(max_lean=0.9).missed(audited(always("con"), *ASKED))  # to either side
    with pytest.raises(ConfigError, match=r"max_lean must be a number in \[0, 1\]; got 2"):
        AuditLimits(max_lean=2)
    nothing = audited(lambda text, k: passages("pro"), "What is a zoo?")
    assert "no question to measure it on" in AuditLimits(max_lean=0.9).missed(nothing)[0]


@pytest.mark.parametrize(
    ("told", "sides", "limits", "outcome"),
    [
        (1, ["pro", "con"], {"max_one_sided": 0.3, "max_follows": 0.2}, "cannot tell"),
        (1, ["pro", "con"], {}, "measured"),
        (3, ["pro", "con"], {"max_one_sided": 0.3, "max_lean": 0.3}, "passed"),
        (2, ["pro"], {"max_one_sided": 0.3}, "missed"),
        (2, ["pro"], {"min_coverage": 0.5}, "cannot tell"),
        (6, ["pro"], {"min_coverage": 0.5}, "missed"),
    ],
)
def test_where_the_judge_finds_no_side_in_most_questions_the_limits_do_not_pass(
    told, sides, limits, outcome
):
    verdict = AuditLimits(**limits).verdict(audited(silent_but(told, *sides), *ASKED, *MORE))
    assert verdict.outcome == outcome
    said = f"in {6 - told} of 6 questions the judge finds no side"
    assert (said in verdict.sentence) == (outcome == "cannot tell")


def test_the_page_begins_with_the_verdict_and_one_chart():
    page = audit_page(audited(silent_but(4, "pro"), *ASKED, *MORE), about={})
    body = page.partition("<body")[2]
    said = "show both sides of 0 and one side alone of 4; of 2 the judge cannot tell"
    assert body.index(said) < body.index("<svg") < body.index("In figures")


def test_every_text_in_the_page_is_escaped_and_nothing_is_fetched():
    sides = (Perspective("support", HOSTILE), Perspective("oppose", f"not {HOSTILE}"))
    store = CallableStore(lambda text, k: [Passage(HOSTILE, f"pro {HOSTILE}", {"title": HOSTILE})])
    asked = [AuditQuestion("q", f"{HOSTILE}?", sides)]
    measured = measure(asked, store, None, MarkJudge(), k=2, depth=2)
    verdict = AuditVerdict("missed", HOSTILE, (HOSTILE,))
    figures = audit_figures(measured, k=2, depth=2)
    page = audit_page(figures, about={"Retriever": HOSTILE}, verdict=verdict)
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("</style>") == 1
    assert page.count("&lt;script&gt;") >= 6
    bare = page.replace("&lt;img src=http", "")
    assert not re.findall(r'(?:src|href|url)\s*[=(]\s*["\']?(?!#)', bare)
    for drawing in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        xml.dom.minidom.parseString(drawing)


def drawn(tmp_path, chart):
    """What a macro of the charts draws, as a document."""
    template = tmp_path / "chart.html"
    template.write_text('{% import "charts.html" as charts %}{{ charts.' + chart + " }}")
    return xml.dom.minidom.parseString(render(template).strip())


def numbers(elements, name):
    return [float(each.getAttribute(name)) for each in elements]


def test_charts_are_drawn_to_scale(tmp_path):
    bars = '[("a", "support"), ("b", "oppose")], [("row", [3, 1]), ("other", [0, 2])]'
    boxes = drawn(tmp_path, f"stacked_bars({bars})").getElementsByTagName("rect")[2:]
    first, second, third = numbers(boxes, "width")
    assert (first / second, third / second) == pytest.approx((3, 2), rel=0.01)
    assert numbers(boxes, "x")[1] == pytest.approx(numbers(boxes, "x")[0] + first, abs=0.2)
    point = '{"k": 1, "mean": 0.5, "low": 0.0, "high": 1.0}'
    chart = drawn(tmp_path, f'intervals([("r", "support", {point})], 0, 1, ("a", "b"))')
    lines = chart.getElementsByTagName("line")
    (line,) = [each for each in lines if each.getAttribute("stroke-width")]
    middle = (numbers([line], "x1")[0] + numbers([line], "x2")[0]) / 2
    assert numbers(chart.getElementsByTagName("circle"), "cx") == pytest.approx([middle], abs=0.1)
    curve = drawn(tmp_path, f'curve([{point}], "support", "x", "y")')
    assert curve.getElementsByTagName("polyline")[0].getAttribute("points").strip() == "52.0,141.0"


@pytest.mark.parametrize(("sides", "css"), [("ab", " both"), ("aa", " a"), ("", "")])
def test_a_passage_has_the_colour_of_its_side(tmp_path, sides, css):
    template = tmp_path / "x.html"
    template.write_text('{% import "parts.html" as parts %}{{ parts.question(shown, true) }}')
    passage = {"title": "t", "text": "x", "marks": [("m", side) for side in sides]}
    shown = {"question": "q", "missing": [], "passages": [passage]}
    assert f'<div class="passage{css}">' in render(template, shown=shown)


def test_a_template_is_escaped_and_a_value_left_out_is_an_error(tmp_path, monkeypatch):
    template = tmp_path / "x.html"
    template.write_text("{{ plain }}")
    assert render(template, plain="<b>") == "&lt;b&gt;"
    with pytest.raises(jinja2.UndefinedError):
        render(template)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingDependency, match=r"HTML needs .*perspective-rag\[local\]"):
        render(Path("x.html"))


def test_the_json_of_an_audit_is_what_scripts_read():
    """Names and places of ``audit.json``; a question whose search failed has its error alone."""

    def search(text, k):
        if "cash" in text.lower():
            raise ConnectionError("store is down")
        return passages("pro")

    given = AuditQuestion("z", "Zoos?", (Perspective("p1", "Keep", "oppose"),), {"oppose": "w"})
    asked = [*questions(*ASKED[:2]), given]
    measured = measure(asked, CallableStore(search), None, MarkJudge(), k=1, depth=1)
    figures = audit_figures(measured, k=1, depth=1, listing_error=ListingError(0, 0, "s"))
    document = json.loads(json.dumps(figures.to_dict(), allow_nan=False))
    names = "k depth threshold rule judged_pairs total error questions degradations"
    assert list(document) == names.split()
    total = document["total"]
    names = (
        "questions failed without_perspectives short nothing_found says_nothing with_perspectives "
        "told two_sided outcomes one_sided passages lean favours leans follows coverage "
        "coverage_where_said needed curve seconds"
    )
    assert list(total) == names.split()
    even = {"mean": 0.0, "low": 0.0, "high": 0.0}
    assert (total["failed"], total["says_nothing"]) == (["1"], ["z"])
    assert set(total["leans"]) == {"neutral", "support", "oppose"}
    assert total["needed"] == {"median": None, "reached": 0, "not_reached": 2}
    assert total["curve"] == [{"k": 1, **even}]
    assert set(total["seconds"]) == {"mean", "p95"}
    bounds = {"low": 1.0, "high": 1.0}
    listing = {"opposing": 0, "silent": 0, "source": "s"}
    assert document["error"] == {**listing, "one_sided": bounds, "lean": bounds}
    first, failed, alone = document["questions"]
    passage = {"id": "pro-0", "title": "", "text": "pro 0", "supports": ["support"]}
    passage["verdicts"] = {"support": "clear", "oppose": "silent"}
    sides = {"support": 1, "oppose": 0, "mixed": 0, "neither": 0, "lean": 1.0}
    assert first["wordings"]["neutral"] == {"asked": ASKED[0], **sides, "passages": [passage]}
    names = "id question perspectives error wordings coverage covered says_nothing needed outcome"
    assert list(first) == [*names.split(), "follows", "seconds"]
    assert list(failed) == ["id", "question", "perspectives", "error"]
    assert list(alone["wordings"]["neutral"]) == ["asked", "passages"]
    assert (alone["outcome"], alone["follows"]) == (None, None)
