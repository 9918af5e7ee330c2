"""Long passages: windows at sentence ends, nothing lost, every text tokenised once."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("tokenizers")
from tokenizers import Tokenizer

from perspective_rag.judge.cross_encoder import DEFAULT_MODEL, CrossEncoderJudge
from perspective_rag.judge.models import OnnxClassifier, PairEncoder, batches_by_length
from perspective_rag.judge.settings import JudgeSettings
from perspective_rag.judge.windows import LONGEST, telling, titled_pieces, windows
from perspective_rag.types import Passage

TRAMS = "The council met on Monday and talked about trams. " * 20_000


def test_windows_end_where_sentences_end_and_are_about_equally_long():
    text = "One two three. Four five. Six seven eight nine. Ten."
    assert windows(text, 5) == ["One two three. Four five.", "Six seven eight nine. Ten."]
    assert windows(text, 100) == [text]
    assert windows("a b c d e f g", 3) == ["a b c", "d e f", "g"]
    sentences = [" ".join([f"S{n}", *["word"] * 18]) + "." for n in range(6)]
    first, second = windows(" ".join(sentences), 95)  # five sentences would fit, one is left
    assert len(first.split()) == len(second.split()) == 57
    first, second = windows(" ".join(["word"] * 113), 110)
    assert len(first.split()) == 57


@given(st.lists(st.integers(1, 30), max_size=12), st.integers(1, 25))
def test_every_word_is_read_in_order_and_no_window_is_too_long(lengths, most):
    numbers = iter(range(10_000))
    text = " ".join(" ".join(f"Word{next(numbers)}" for _ in range(n)) + "." for n in lengths)
    found = windows(text, most)
    assert [word for window in found for word in window.split()] == text.split()
    assert max(len(window.split()) for window in found) <= max(most, 0)


def test_of_a_very_long_passage_a_bounded_part_is_read():
    pieces = titled_pieces(
        Passage("1", f"{TRAMS} Zoos should close. {TRAMS}"), "Should zoos close?"
    )
    assert sum(map(len, pieces)) <= LONGEST
    assert any("Zoos should close." in piece for piece in pieces)
    assert pieces[0].startswith("The council met")
    pieces = [f"{i} words" for i in range(LONGEST // 20)]
    assert telling(pieces, "words 7") == pieces
    assert telling(["a" * (LONGEST + 1)], "b") == ["a" * (LONGEST + 1)]
    first, last = "a" * (LONGEST - 6), "d d"
    assert telling([first, "b b", "c c", last], "c") == [first, "c c", last]
    assert telling([first, "b b", "c c", last], "nothing") == [first, "b b", last]


@cache
def tokenizer():
    return Tokenizer.from_file(str(DEFAULT_MODEL / "tokenizer.json"))


class Counting:
    """A tokenizer that remembers what it was given."""

    def __init__(self):
        self._inner, self.encoded = tokenizer(), []

    def encode(self, text, **options):
        self.encoded.append(text)
        return self._inner.encode(text, **options)

    def __getattr__(self, name):
        return getattr(self._inner, name)


def test_pairs_are_joined_as_the_tokenizer_joins_them_and_each_text_is_tokenised_once():
    documents = [f"passage number {i} about herons" for i in range(4) for _ in range(3)]
    statements = ["herons matter", "boats matter", "cars matter"] * 4
    counting = Counting()
    encoder = PairEncoder(counting, 64)
    found = encoder.pairs(documents, statements)
    encoder.pairs(documents, statements)
    assert len(counting.encoded) == 4 + 3
    for encoding, document, statement in zip(found, documents, statements, strict=True):
        expected = tokenizer().encode(document, statement)
        assert encoding.ids == expected.ids
        assert encoding.type_ids == expected.type_ids


@pytest.mark.parametrize("longer", ["document", "statement"])
def test_pairs_that_are_too_long_keep_the_shorter_text_whole(longer):
    texts = {"document": "heron " * 8, "statement": "boat " * 8}
    texts[longer] *= 20
    (found,) = PairEncoder(tokenizer(), 32).pairs([texts["document"]], [texts["statement"]])
    assert len(found.ids) == 32
    other = "boat" if longer == "document" else "heron"
    assert found.tokens.count(other) == 8


@given(st.text(st.sampled_from("ab 港鷺。x\n"), max_size=400))
def test_pieces_hold_the_whole_text_and_fit(text):
    pieces = PairEncoder(tokenizer(), 32).pieces(text, ["herons matter"])
    assert "".join(pieces) == text
    assert all(len(tokenizer().encode(each, "herons matter").ids) <= 32 for each in pieces)


@pytest.mark.parametrize("filler", ["The ferry leaves at nine. ", "船は九時に出る。"])
def test_the_end_of_a_long_passage_reaches_the_model_in_any_script(filler):
    """Far behind its first 512 tokens, also in a script without spaces."""
    model = OnnxClassifier(DEFAULT_MODEL, max_tokens=JudgeSettings.of(DEFAULT_MODEL).max_tokens)
    seen = []

    class Watching:
        labels = model.labels
        pieces = staticmethod(model.pieces)

        def logits(self, documents, statements):
            encoded = model._encoder.pairs(documents, statements)
            seen.extend(token for each in encoded for token in each.tokens)
            return model.logits(documents[:1], statements[:1]).repeat(len(documents), axis=0)

    judge = CrossEncoderJudge(classifier=Watching())
    judge.pair_probabilities([filler * 150 + "Herons."], ["Boats matter."])
    assert len(seen) > 900
    assert "heron" in seen or "herons" in seen


def test_batches_are_of_similar_length():
    assert list(batches_by_length([9, 1, 8, 2, 7], 2)) == [[1, 3], [4, 2], [0]]
