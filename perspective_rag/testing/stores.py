"""What the pipeline expects of a store, as checks that any store can be put through.

    case = StoreCase(fill=my_store_with, filter={"side": "against"}, remove=delete_from)
    print(check_store(case))   # {"search": "by vector", "PAP": "exact", ...}

Each check compares the store with brute force over the same vectors and says in a few words what
the store can do; it raises AssertionError, with what was expected, when the store does it wrong.
With pytest: ``@pytest.mark.parametrize("check", STORE_CHECKS)`` and ``STORE_CHECKS[check](case)``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

import numpy as np

from perspective_rag.errors import CapabilityError
from perspective_rag.flow import driver as threads
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.protocols import KeepsEmbeddings, Store
from perspective_rag.testing import samples
from perspective_rag.testing.samples import PERSPECTIVES, QUESTION, SAMPLE, expect
from perspective_rag.testing.standins import HashEmbedder
from perspective_rag.types import Hit, Passage, RetrievalResult, Vector

TOLERANCE = 1e-5
"""Stores keep 32-bit vectors; two passages closer than this may change places."""


@dataclass(slots=True)
class StoreCase:
    """A store to check.

    Args:
        fill: ``fill(passages, embedder)`` makes a new store that holds these passages, by their ids
            and with their metadata, under the embedder's vectors (64 numbers, length one).
        filter: The filter that keeps passages whose metadata has side = "against"; None: the store
            takes no filter.
        remove: ``remove(store, ids)`` deletes passages; None: it cannot.
    """

    fill: Callable[[Sequence[Passage], HashEmbedder], Store]
    filter: Any = None
    remove: Callable[[Store, Sequence[str]], Any] | None = None
    _filled: Store | None = field(default=None, init=False, repr=False)
    _embedder: HashEmbedder = field(default_factory=HashEmbedder, init=False, repr=False)

    def filled(self) -> tuple[Store, HashEmbedder]:
        """Returns the store with ``SAMPLE`` in it, made once, and the embedder, its list of texts
        emptied.
        """
        if self._filled is None:
            self._filled = self.fill(SAMPLE, self._embedder)
        self._embedder.embedded.clear()
        return self._filled, self._embedder


def check_store(case: StoreCase) -> dict[str, str]:
    """Puts a store through ``STORE_CHECKS``, each of which compares it with brute force.

    Args:
        case: The store.

    Returns:
        What the store can do, by the names of the checks, e.g. ``{"search": "by vector"}``.

    Raises:
        AssertionError: The store does something wrong; the message says what was expected.
    """
    return {name: check(case) for name, check in STORE_CHECKS.items()}


def search(case: StoreCase) -> str:
    """The order of brute force, for vectors of any length and precision."""
    store, _ = case.filled()
    expect(isinstance(store, Store), f"{type(store).__name__} does not fit protocols.Store")
    if not store.takes_vector:
        found = store.search(QUESTION, None, k=5)
        expect(len(found) == 5, f"a search by text for 5 found {len(found)}")
        return "by text"
    for text in samples.QUERIES:
        vector = samples.vector(text)
        for given in (vector, vector.astype(np.float32), 3.0 * vector):
            expect_nearest(store.search(text, given, k=7), vector, 7)
    return "by vector"


def projected(case: StoreCase, name: str, fetch_k: int) -> str:
    """Searches by projected vectors, fused: the scores that the formulas give. "pap+" projects the
    passages too.
    """
    store, embedder = case.filled()
    options = {"projection": name, "fusion": "rrf", "fetch_k": fetch_k, "k": 9}
    if store.takes_vector:
        expect_fused(ask(store, embedder, **options), samples.fused_rankings(name, fetch_k))
        return "exact"
    try:
        ask(store, embedder, **options)
    except CapabilityError:  # said before any search
        return "refused"
    raise AssertionError("a store that searches by text alone took a projection")


def filters(case: StoreCase) -> str:
    """The filter holds in every search of a request, sync and async, and loses nothing."""
    store, embedder = case.filled()
    wanted = {p.id for p in SAMPLE if p.metadata["side"] == "against"}
    if case.filter is None:
        try:
            ask(store, embedder, filter={"side": "against"}, k=len(SAMPLE))
        except Exception:  # stores refuse by errors of their own; that there is one is the finding
            return "refused"
        raise AssertionError("the case has no filter, and the store refuses none: is it ignored?")
    for k in (2, len(SAMPLE)):
        for found in both_ways(store, QUESTION, k=k, filter=case.filter):
            names = {hit.passage.id for hit in found}
            expect(names <= wanted, f"{len(names - wanted)} hits do not pass the filter")
            expect(len(names) == min(k, len(wanted)), f"{len(names)} of {len(wanted)} came, k={k}")
    projection = "pap" if store.takes_vector else "none"  # searches of every kind
    result = ask(store, embedder, filter=case.filter, k=len(SAMPLE), projection=projection)
    expect({p.id for p in result.passages} == wanted, "a search of the request had no filter")
    return "all searches"


def scores(case: StoreCase) -> str:
    """A score is the cosine to the searched vector, or there is none."""
    store, _ = case.filled()
    said = set()
    for text in samples.QUERIES:
        vector = samples.vector(text)
        for hit in store.search(text, 2.0 * vector if store.takes_vector else None, k=9):
            said.add(hit.score is not None)
            if hit.score is not None and store.takes_vector:
                cosine = samples.cosine_of(hit.passage.id, vector)
                expect(abs(hit.score - cosine) < TOLERANCE, f"score {hit.score}, cosine {cosine}")
    expect(len(said) == 1, "some hits have a score and some have none")
    return "cosine" if said.pop() and store.takes_vector else "order only"


def vectors(case: StoreCase) -> str:
    """Where the candidates' vectors come from when a request needs them, counted."""
    store, embedder = case.filled()
    result = ask(store, embedder, mmr_lambda=0.5, fetch_k=9, k=9)
    asked, texts = result.trace.calls.get("vectors", 0), {p.text for p in SAMPLE}
    again = [text for text in embedder.embedded if text in texts]
    expect(len(again) == len(set(again)), "a candidate was embedded twice")
    if again:
        batches = result.trace.calls.get("embed", 0)
        counted = result.trace.counts["embedded_texts"]
        expect(batches <= 2, f"{batches} batches were embedded, for queries and passages")
        # Each once; a store that is searched by text may embed the queries once more, for itself.
        different = len(set(embedder.embedded))
        expect(counted == different, f"{counted} embedded texts counted, it were {different}")
        expect(not isinstance(store, KeepsEmbeddings), "embeddings_of gave nothing back")
        return "embedded once"
    if isinstance(store, KeepsEmbeddings):
        hits = store.search(QUESTION, samples.vector(QUESTION), k=5)
        passages = [hit.passage for hit in hits]
        unknown = Passage(samples.name_of("unknown"), "unknown", {"_id": samples.name_of("?")})
        rows = store.embeddings_of([passages[2], unknown, passages[0], passages[2]])
        expect(len(rows) == 4, f"{len(rows)} rows for 4 passages")
        expect(bool(np.isnan(rows[1]).all()), "a passage the store does not know has a vector")
        for row, passage in (
            (rows[0], passages[2]),
            (rows[2], passages[0]),
            (rows[3], passages[2]),
        ):
            near = np.allclose(row, samples.vector(passage.text), atol=TOLERANCE)
            expect(bool(near), f"embeddings_of gives {passage.id} another passage's vector")
    expect(asked <= 1, f"{asked} calls for vectors, one is expected")
    return "one call" if asked else "with the hits"


def more_than_there_are(case: StoreCase) -> str:
    """k above the number of passages gives all of them, each once."""
    store, _ = case.filled()
    for k in (1, len(SAMPLE), 10 * len(SAMPLE)):
        names = [passage.id for passage in found_by(store, QUESTION, k)]
        expect(len(names) == min(k, len(SAMPLE)), f"k={k} of {len(SAMPLE)} gave {len(names)}")
        expect(len(names) == len(set(names)), "a passage came twice")
    return "all there are"


def empty(case: StoreCase) -> str:
    """A store without passages finds nothing, and nothing breaks."""
    embedder = HashEmbedder()
    store = case.fill((), embedder)
    for found in both_ways(store, QUESTION, k=5):
        expect(not found, f"an empty store found {len(found)} passages")
    expect(not ask(store, embedder).passages, "an empty store gave passages")
    return "no hits"


def deleted(case: StoreCase) -> str:
    """What was deleted is not found any more, and its vector is gone."""
    if case.remove is None:
        return "cannot delete"
    store = case.fill(SAMPLE, HashEmbedder())
    before = found_by(store, QUESTION, 6)
    gone = [before[0], before[3]]
    case.remove(store, [passage.id for passage in gone])
    after = [passage.id for passage in found_by(store, QUESTION, len(SAMPLE))]
    expect(len(after) == len(SAMPLE) - 2, f"{len(after)} left of {len(SAMPLE)} less 2")
    expect(not {p.id for p in gone} & set(after), "a deleted passage was found")
    if isinstance(store, KeepsEmbeddings):
        rows = store.embeddings_of([gone[0], before[1]])
        expect(bool(np.isnan(rows[0]).all()), "a deleted passage has a vector")
        kept = samples.vector(before[1].text)
        expect(bool(np.allclose(rows[1], kept, atol=TOLERANCE)), "another's vector changed")
    return "gone"


def duplicates(case: StoreCase) -> str:
    """The same text under two ids is two passages, each found once, with its own id and vector."""
    twin = Passage(samples.name_of("twin"), SAMPLE[0].text, {**SAMPLE[0].metadata})
    embedder = HashEmbedder()
    store = case.fill((*SAMPLE, twin), embedder)
    names = [passage.id for passage in found_by(store, twin.text, 2)]
    expect(set(names) == {twin.id, SAMPLE[0].id}, "the same text under two ids did not come twice")
    found = [p.id for p in ask(store, embedder, k=len(SAMPLE) + 1).passages]
    expect(len(found) == len(set(found)), "a passage came twice")
    return "both, once each"


def asynchronous(case: StoreCase) -> str:
    """``asearch`` gives what ``search`` gives, in one event loop after another."""
    store, _ = case.filled()
    for text in samples.QUERIES[:2]:
        one, other = both_ways(store, text, k=7)
        expect([h.passage.id for h in one] == [h.passage.id for h in other], "another order")
        expect([h.score for h in one] == [h.score for h in other], "other scores")
    with patch.object(threads, "start", side_effect=threads.start) as started:
        both_ways(store, QUESTION, k=3)
    return "in a thread" if started.called else "its own"


STORE_CHECKS: Mapping[str, Callable[[StoreCase], str]] = MappingProxyType(
    {
        "search": search,
        "PAP": partial(projected, name="pap", fetch_k=9),
        "PAP+": partial(projected, name="pap+", fetch_k=len(SAMPLE)),
        "filter": filters,
        "score": scores,
        "vectors": vectors,
        "k > n": more_than_there_are,
        "empty": empty,
        "deleted": deleted,
        "duplicates": duplicates,
        "async": asynchronous,
    }
)
"""The checks by name; each returns what the store can do, for a table of stores."""


def ask(
    store: Store, embedder: HashEmbedder, *, filter: Any = None, **options: Any
) -> RetrievalResult:
    """One request, with the sample's question and perspectives, in which nothing may go wrong."""
    pipeline = PerspectivePipeline(store, embedder=embedder, expander=samples.Carrying())
    options = {"strict": True, "fetch_k": 50, "max_queries": 3, **options}
    return pipeline.retrieve(QUESTION, perspectives=PERSPECTIVES, filter=filter, **options)


def both_ways(
    store: Store, text: str, *, k: int, filter: Any = None
) -> tuple[Sequence[Hit], Sequence[Hit]]:
    """What ``search`` and ``asearch`` find."""
    vector = samples.vector(text) if store.takes_vector else None

    async def later() -> Sequence[Hit]:
        return await store.asearch(text, vector, k=k, filter=filter)

    return store.search(text, vector, k=k, filter=filter), asyncio.run(later())


def found_by(store: Store, text: str, k: int) -> list[Passage]:
    """What ``search`` finds."""
    vector = samples.vector(text) if store.takes_vector else None
    return [hit.passage for hit in store.search(text, vector, k=k)]


def expect_nearest(hits: Sequence[Hit], vector: Vector, k: int) -> None:
    """The k nearest of the sample, best first; those as near as each other in any order."""
    found = [samples.cosine_of(hit.passage.id, vector) for hit in hits]
    best = sorted((samples.cosine_of(p.id, vector) for p in SAMPLE), reverse=True)[:k]
    expect(len({hit.passage.id for hit in hits}) == k, f"{len(hits)} hits, {k} are expected")
    expect(bool(np.allclose(found, best, atol=TOLERANCE)), f"cosines {found}, expected {best}")


def expect_fused(result: RetrievalResult, expected: Mapping[str, float]) -> None:
    """The fused scores that brute force gives, for the passages it would choose."""
    found = {c.passage.id: c.scores["fused"] for c in result.candidates}
    best = sorted(expected.values(), reverse=True)[: len(found)]
    expect(len(found) == 9, f"{len(found)} passages came, 9 are expected")
    expect(bool(np.allclose(list(found.values()), best, atol=1e-9)), f"{found} against {best}")
    own = [expected.get(name, 0.0) for name in found]
    expect(bool(np.allclose(list(found.values()), own, atol=1e-9)), "scores of other passages")
