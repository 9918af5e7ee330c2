"""A stream of passages into a store: windows, resuming, refusals, the count in the end."""

from __future__ import annotations

import numpy as np
import pytest

from perspective_rag.errors import ConfigError, CorpusError, RetrievalError
from perspective_rag.testing import HashEmbedder
from perspective_rag.types import Passage
from perspective_rag_scale import filling
from perspective_rag_scale.filling import fill

PASSAGES = [Passage(f"p{i}", "zoo " * (i % 5 + 1) + str(i), {"n": i}) for i in range(25)]


class ListSink:
    """Passages by id in memory; ``held`` and ``before_write`` are the test's."""

    appends = True
    name = key = "list:here"

    def __init__(self, held=None, before_write=lambda start: None):
        self.held = {} if held is None else held
        self.before_write = before_write
        self.dimensions = None
        self.writes = []

    def open(self, dimensions):
        if self.dimensions not in (None, dimensions):
            raise ConfigError(f"holds vectors of {self.dimensions} numbers")
        self.dimensions = dimensions

    def write(self, passages, rows, start):
        self.before_write(start)
        self.writes.append((start, len(passages)))
        for passage, row in zip(passages, rows, strict=True):
            self.held[passage.id] = (passage, row)

    def finish(self, tell):
        tell("finished")

    def count(self):
        return len(self.held)

    def close(self):
        pass


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(filling, "_PAUSES", (0.0, 0.0))


def run(passages, sink, folder, embedder=None, **options):
    options = {"model_name": "m", "window": 10, "batch": 4, **options}
    return fill(passages, sink, embedder or HashEmbedder(16), folder, **options)


def test_every_passage_has_its_own_row(tmp_path):
    sink, embedder, told, said = ListSink(), HashEmbedder(16), [], []
    done = run(iter(PASSAGES), sink, tmp_path, embedder, on_progress=told.append, tell=said.append)
    assert (done.passages, done.embedded, done.held) == (25, 25, 25)
    assert sink.writes == [(0, 10), (10, 10), (20, 5)]
    assert told[-1] == 25
    assert told == sorted(told)
    assert said == ["finished"]
    expected = HashEmbedder(16).embed_passages([p.titled for p in PASSAGES])
    found = np.stack([sink.held[p.id][1] for p in PASSAGES])
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert found.dtype == np.float32


def test_titles_are_embedded_and_rows_have_length_one(tmp_path):
    class Long(HashEmbedder):
        def embed_passages(self, texts):
            return 7.0 * super().embed_passages(texts)

    sink, embedder = ListSink(), Long(16)
    run([Passage("a", "the text", {"title": "The title"})], sink, tmp_path, embedder)
    assert embedder.embedded[-1] == "The title. the text"
    assert np.linalg.norm(sink.held["a"][1]) == pytest.approx(1.0)


def test_a_second_run_embeds_nothing(tmp_path):
    sink, embedder = ListSink(), HashEmbedder(16)
    run(PASSAGES, sink, tmp_path)
    again = run(PASSAGES, sink, tmp_path, embedder)
    assert (again.embedded, again.held) == (0, 25)
    assert len(embedder.embedded) == 1, "one text, to know the length of the vectors"


def test_what_failed_goes_on_where_it_was(tmp_path):
    def fail(start):
        if start == 20:
            raise ConnectionError("password=hunter22 down")

    sink = ListSink(before_write=fail)
    with pytest.raises(CorpusError, match=r"did not take passages 21 to 25: .*goes on") as caught:
        run(PASSAGES, sink, tmp_path)
    assert "hunter22" not in str(caught.value)
    sink.before_write = lambda start: None
    sink.writes.clear()
    assert run(PASSAGES, sink, tmp_path).embedded == 5
    assert sink.writes == [(20, 5)]


def test_a_store_that_fails_twice_is_asked_again(tmp_path, caplog):
    failures = iter([True, True])

    def fail(start):
        if next(failures, False):
            raise ConnectionError("down")

    assert run(PASSAGES, ListSink(before_write=fail), tmp_path).held == 25
    assert caplog.text.count("asked again") == 2


def test_errors_of_the_embedder_are_its_own_and_keep_what_was_written(tmp_path):
    def fail(texts):
        if "zoo 20" in texts:
            raise RetrievalError("the server gave no embeddings")

    sink = ListSink()
    with pytest.raises(RetrievalError):
        run(PASSAGES, sink, tmp_path, HashEmbedder(16, before=fail))
    assert len(sink.held) == 20
    assert run(PASSAGES, sink, tmp_path).embedded == 5


def test_another_corpus_does_not_go_on(tmp_path):
    sink = ListSink()
    run(PASSAGES, sink, tmp_path)
    other = [Passage("p0", "something else"), *PASSAGES[1:]]
    with pytest.raises(ConfigError, match=r"line 1, is not .*--restart"):
        run(other, sink, tmp_path)
    with pytest.raises(ConfigError, match="line 3, is not"):
        run(PASSAGES[:20], sink, tmp_path)
    metadata = [*PASSAGES[:24], Passage("p24", PASSAGES[24].text, {"n": 0})]
    with pytest.raises(ConfigError, match="line 3"):
        run(metadata, sink, tmp_path)
    assert run(metadata, sink, tmp_path, restart=True).embedded == 25
    assert sink.held["p24"][0].metadata == {"n": 0}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_name": "other"}, "another encoder"),
        ({"window": 5}, "another window"),
        ({"embedder": HashEmbedder(8)}, "another vector length"),
    ],
)
def test_other_settings_do_not_go_on(tmp_path, change, said):
    sink = ListSink()
    run(PASSAGES, sink, tmp_path)
    with pytest.raises(ConfigError, match=said):
        run(PASSAGES, sink, tmp_path, **change)


def test_another_target_does_not_go_on(tmp_path):
    run(PASSAGES, ListSink(), tmp_path)
    other = ListSink()
    other.key = "list:there"
    with pytest.raises(ConfigError, match="another target"):
        run(PASSAGES, other, tmp_path)


def test_a_store_that_is_not_empty_needs_a_word(tmp_path):
    stranger = {"x": (Passage("x", "a stranger"), None)}
    sink = ListSink(dict(stranger))
    with pytest.raises(ConfigError, match=r"holds 1 passages already: .*--append"):
        run(PASSAGES, sink, tmp_path / "a")
    assert list(sink.held) == ["x"]
    assert run(PASSAGES, sink, tmp_path / "a", append=True).held == 26
    assert run(PASSAGES, sink, tmp_path / "a").embedded == 0, "the word was said once"
    assert run(PASSAGES, ListSink(dict(stranger)), tmp_path / "b", restart=True).held == 26


def test_a_store_of_one_corpus_cannot_be_appended_to(tmp_path):
    sink = ListSink()
    sink.appends = False
    with pytest.raises(ConfigError, match="one corpus alone"):
        run(PASSAGES, sink, tmp_path, append=True)


def test_ids_that_repeat_are_found_out(tmp_path):
    with pytest.raises(CorpusError, match=r"holds 24 passages, expected 25.*share an id"):
        run([*PASSAGES[:24], PASSAGES[3]], ListSink(), tmp_path)


def test_a_store_that_gains_passages_is_found_out(tmp_path):
    sink = ListSink()
    sink.before_write = lambda start: sink.held.update({f"x{start}": None})
    with pytest.raises(CorpusError, match=r"holds 28 passages, expected 25.*something else writes"):
        run(PASSAGES, sink, tmp_path)


def test_a_store_that_lost_passages_is_found_out_before_anything_is_embedded(tmp_path):
    sink = ListSink()
    run(PASSAGES, sink, tmp_path)
    sink.held.clear()
    with pytest.raises(CorpusError, match=r"holds 0 passages where .* 25 were written: --restart"):
        run(PASSAGES, sink, tmp_path)
    assert run(PASSAGES, sink, tmp_path, restart=True).held == 25


def test_no_passages(tmp_path):
    with pytest.raises(CorpusError, match="no passages"):
        run([], ListSink(), tmp_path)


def test_a_state_that_cannot_be_read(tmp_path):
    run(PASSAGES, ListSink(), tmp_path)
    (tmp_path / "state.json").write_text("{")
    with pytest.raises(CorpusError, match=r"cannot be read .*--restart"):
        run(PASSAGES, ListSink(), tmp_path)


def test_two_at_once(tmp_path):
    class Busy(ListSink):
        def write(self, passages, rows, start):
            with pytest.raises(ConfigError, match="another run is writing"):
                run(PASSAGES, ListSink(), tmp_path)
            super().write(passages, rows, start)

    assert run(PASSAGES, Busy(), tmp_path).held == 25


def test_restart_keeps_out_of_a_run_that_goes_on(tmp_path):
    refused = []

    def second(start):
        if start == 10:
            with pytest.raises(ConfigError, match="another run is writing") as caught:
                run(PASSAGES, ListSink(), tmp_path, restart=True)
            refused.append(caught)

    sink = ListSink(before_write=second)
    assert run(PASSAGES, sink, tmp_path).held == 25
    assert len(refused) == 1
    again = run(PASSAGES, sink, tmp_path)
    assert (again.embedded, again.held) == (0, 25), "what the first run kept is still known"


def test_what_is_known_of_windows_counts_for_nothing_without_its_state(tmp_path):
    run(PASSAGES, ListSink(), tmp_path)
    (tmp_path / "state.json").unlink()
    assert run(PASSAGES, ListSink(), tmp_path).embedded == 25
