"""The checks for stores: a good store passes all of them, and each mistake is found by one."""

from __future__ import annotations

import numpy as np
import pytest

from perspective_rag.errors import CapabilityError
from perspective_rag.testing import STORE_CHECKS, MemoryStore, StoreCase
from perspective_rag.testing import check_store as check
from perspective_rag.types import Hit


class Keeping(MemoryStore):
    """A store that hands its vectors back in one call."""

    def embeddings_of(self, passages):
        known = {p.id for p in self.passages}
        rows = self.embedder.__class__().embed_passages([p.text for p in passages])
        rows[[p.id not in known for p in passages]] = np.nan
        return rows


def against(passage):
    return passage.metadata["side"] == "against"


def remove(store, ids):
    store.passages = [p for p in store.passages if p.id not in ids]


def case(kind=MemoryStore, *, filter=against, delete=remove, **options):
    def fill(passages, embedder):
        return kind(list(passages), embedder, **options)

    return StoreCase(fill, filter=filter, remove=delete)


def test_a_good_store_passes_and_says_what_it_can():
    assert check(case()) == {
        "search": "by vector",
        "PAP": "exact",
        "PAP+": "exact",
        "filter": "all searches",
        "score": "cosine",
        "vectors": "embedded once",
        "k > n": "all there are",
        "empty": "no hits",
        "deleted": "gone",
        "duplicates": "both, once each",
        "async": "its own",
    }
    assert check(case(returns_embeddings=True))["vectors"] == "with the hits"
    assert check(case(Keeping))["vectors"] == "one call"
    assert check(case(delete=None))["deleted"] == "cannot delete"


def test_a_store_that_is_searched_by_text():
    report = check(case(takes_vector=False))
    assert (report["search"], report["PAP"], report["PAP+"]) == ("by text", "refused", "refused")
    assert report["score"] == "order only"


class Refusing(MemoryStore):
    def _search(self, text, vector, k, filter):
        if filter is not None:
            raise CapabilityError("no filters here")
        return super()._search(text, vector, k, filter)


def test_a_store_that_refuses_filters_is_no_mistake():
    assert check(case(Refusing, filter=None))["filter"] == "refused"


def mistake(change):
    """A store whose every answer is changed."""

    class Mistaken(MemoryStore):
        def _search(self, text, vector, k, filter):
            return change(self, super()._search, text, vector, k, filter)

    return Mistaken


def worst_first(store, search, text, vector, k, filter):
    return search(text, -vector, k, filter)


def distances(store, search, text, vector, k, filter):
    return [Hit(h.passage, 1.0 - h.score) for h in search(text, vector, k, filter)]


def filter_ignored(store, search, text, vector, k, filter):
    return search(text, vector, k, None)


def filtered_too_late(store, search, text, vector, k, filter):
    return [h for h in search(text, vector, k, None) if filter is None or filter(h.passage)]


def one_short(store, search, text, vector, k, filter):
    return search(text, vector, min(k, max(len(store.passages) - 1, 0)), filter)


def twice(store, search, text, vector, k, filter):
    hits = search(text, vector, k, filter)
    return [*hits[:1], *hits][:k]


def fails_when_empty(store, search, text, vector, k, filter):
    return [search(text, vector, k, filter)[0], *search(text, vector, k, filter)[1:]]


def plain_instead_of_turned(store, search, text, vector, k, filter):
    return search(text, store.embedder.embed_queries([text])[0], k, filter)


MISTAKES = [
    (worst_first, "search"),
    (distances, "score"),
    (filter_ignored, "filter"),
    (filtered_too_late, "filter"),
    (one_short, "k > n"),
    (twice, "k > n"),
    (fails_when_empty, "empty"),
    (plain_instead_of_turned, "PAP"),
]


@pytest.mark.parametrize(("change", "name"), MISTAKES)
def test_a_mistake_is_found(change, name):
    with pytest.raises((AssertionError, IndexError)):
        STORE_CHECKS[name](case(mistake(change)))


class Shuffled(Keeping):
    def embeddings_of(self, passages):
        return super().embeddings_of(passages)[::-1]


class Remembering(Keeping):
    """Gives vectors for what was deleted."""

    def embeddings_of(self, passages):
        return self.embedder.embed_passages([p.text for p in passages])


class OtherAsync(MemoryStore):
    async def asearch(self, text, vector, *, k, filter=None):
        return self._search(text, vector, k, filter)[::-1]


@pytest.mark.parametrize(
    ("kind", "name"),
    [(Shuffled, "vectors"), (Shuffled, "PAP+"), (Remembering, "deleted"), (OtherAsync, "async")],
)
def test_a_store_of_such_a_kind_is_found(kind, name):
    with pytest.raises(AssertionError):
        STORE_CHECKS[name](case(kind))


def test_what_was_not_deleted_is_found():
    with pytest.raises(AssertionError, match="left"):
        STORE_CHECKS["deleted"](case(delete=lambda store, ids: None))


def test_a_filter_that_is_swallowed_is_found():
    swallowing = mistake(filter_ignored)
    with pytest.raises(AssertionError, match="ignored"):
        STORE_CHECKS["filter"](case(swallowing, filter=None))
