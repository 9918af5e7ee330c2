"""Components and stores over fakes with a known truth, for the Haystack tests.

Without ``from __future__ import annotations``: Haystack before 3.0 reads annotations as they are.
"""

from haystack import Document, component, default_to_dict
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore

from perspective_rag.testing import HashEmbedder, TableJudge
from tests.integrations.samples import QUESTION, SIDES, TEXTS

TRUTH = {(name, SIDES[name[:-2]]): 0.9 for name in TEXTS if name[:-2] in SIDES}


@component
class WordEmbedder:
    """Texts that share words are similar; ``texts`` lists every text it was asked for."""

    def __init__(self, warm: bool = True):
        self.texts = []
        self.warm = warm
        self.closed = False

    def warm_up(self):
        self.warm = True

    def close(self):
        self.closed = True

    @component.output_types(embedding=list[float])
    def run(self, text: str):
        assert self.warm, "run before warm_up"
        self.texts.append(text)
        return {"embedding": HashEmbedder().embed_queries([text])[0].tolist()}


@component
class WordDocumentEmbedder:
    """The same for documents; ``batches`` says how many came together."""

    def __init__(self):
        self.batches = []

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]):
        self.batches.append(len(documents))
        rows = HashEmbedder().embed_passages([each.content for each in documents]).tolist()
        embedded = [
            Document(id=each.id, content=each.content, embedding=row)
            for each, row in zip(documents, rows, strict=True)
        ]
        return {"documents": embedded}


@component
class ScriptedGenerator:
    """A chat generator that gives its replies in turn, the last one for ever."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.asked = []

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: list | None = None, **kwargs):
        self.asked.append(messages)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        return {"replies": [ChatMessage.from_assistant(reply) if isinstance(reply, str) else reply]}


class WrittenJudge(TableJudge):
    """A judge of one's own that can be written into a pipeline's file."""

    def __init__(self, rate: float = 0.1):
        super().__init__(TRUTH, default=rate)
        self.rate = rate

    def to_dict(self):
        return default_to_dict(self, rate=self.rate)


def is_thanks(question):
    """A follow-up that needs no perspectives."""
    return question.startswith("thanks")


def documents(*, embedded=True):
    rows = HashEmbedder().embed_passages(list(TEXTS.values())).tolist()
    return [
        Document(
            id=name,
            content=text,
            meta={"n": name, "side": name[:-2], "tags": ["zoo"]},
            embedding=row if embedded else None,
        )
        for (name, text), row in zip(TEXTS.items(), rows, strict=True)
    ]


def filled(**settings):
    """A store with the debate and its vectors."""
    store = InMemoryDocumentStore(**settings)
    store.write_documents(documents())
    return store


def judge(**given):
    """A judge that knows the truth."""
    return TableJudge(TRUTH, **given)


__all__ = ["QUESTION", "TEXTS"]
