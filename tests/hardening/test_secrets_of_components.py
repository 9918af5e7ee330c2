"""Components that are used by themselves, outside of a pipeline, keep keys to themselves too.

A component's client is simulated by functions that fail as servers do: with what they were sent, in
the error and in its cause, or with a reply that repeats it.
"""

from __future__ import annotations

import asyncio

import pytest

from perspective_rag import (
    CallableEmbedder,
    CallableLLM,
    CallableStore,
    LLMError,
    LLMExtractor,
    PerspectivePipeline,
    PerspectiveRAGError,
    Prompt,
    arun,
    run,
)
from perspective_rag.audit.measure import measure
from perspective_rag.audit.questions import AuditQuestion
from perspective_rag.extend import Call, degrade, no_reply, scrubbing, secrets_of, without_secrets
from perspective_rag.flow.request import Recorder
from perspective_rag.perspectives.sides import both_sides
from perspective_rag.testing import SAMPLE, HashEmbedder, MemoryStore, RuleJudge
from perspective_rag.types import PACKAGED
from tests.hardening.test_secrets import KEY, told, without_key

PROMPT = Prompt("a_prompt", "what the user says")
PLAIN = "plain-word-without-shape"
"""A key that nothing but the settings of its client tells."""


def fails(*args, **kwargs):
    try:
        raise OSError(f"you sent Authorization: Bearer {KEY}")
    except OSError as cause:
        raise ConnectionError(f"403: api_key={KEY}, and {PLAIN}") from cause


async def afails(*args, **kwargs):
    fails()


def whole(error):
    """All of an error and of what caused it, what a traceback leaves out included."""
    seen = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return "".join(told(each) for each in seen)


CALLABLES = {
    "model": lambda: CallableLLM(fails).complete(PROMPT),
    "async model": lambda: asyncio.run(CallableLLM(fails, afails).acomplete(PROMPT)),
    "embedder": lambda: CallableEmbedder(fails).embed_passages(["a"]),
    "store": lambda: CallableStore(fails).search("a", None, k=3),
    "async store": lambda: asyncio.run(CallableStore(fails, afails).asearch("a", None, k=3)),
}


@pytest.mark.parametrize("call", CALLABLES.values(), ids=CALLABLES)
def test_functions_that_fail_with_a_key(call):
    with pytest.raises(Exception, match=r"\*\*\*") as caught:
        call()
    assert without_key(whole(caught.value))


def test_a_model_made_of_a_function_fails_with_an_error_of_a_model():
    with pytest.raises(LLMError, match="gave no reply to prompt 'a_prompt'") as caught:
        CallableLLM(fails).complete(PROMPT)
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert isinstance(caught.value.__cause__.__cause__, OSError)


def test_an_extractor_run_by_itself():
    recorder = Recorder()
    run(LLMExtractor(CallableLLM(fails)).extract("Should zoos be closed?"), recorder)
    [found] = recorder.trace().degradations
    assert without_key(str(found.to_dict()) + whole(found.error))


@pytest.mark.parametrize("drive", [run, lambda flow: asyncio.run(arun(flow))])
def test_whatever_leaves_a_flow(drive):
    def flow():
        yield [Call("x", len, ("a",))]
        fails()

    with pytest.raises(ConnectionError) as caught:
        drive(flow())
    assert without_key(whole(caught.value))


@pytest.mark.parametrize("drive", [run, lambda *given: asyncio.run(arun(*given))])
def test_a_degradation_that_a_component_makes_itself(drive):
    def flow():
        try:
            fails()
        except ConnectionError as error:
            degrade("judge", f"failed: {error}", error)
        yield []

    recorder = Recorder()
    drive(flow(), recorder)
    [found] = recorder.trace().degradations
    assert without_key(str(found.to_dict()) + whole(found.error))


def test_an_answerer_that_fails_with_a_key():
    class Answerer:
        def answer(self, result):
            fails()

    pipeline = PerspectivePipeline(
        MemoryStore(SAMPLE), embedder=HashEmbedder(), answerer=Answerer()
    )
    result = pipeline.retrieve("Should zoos be closed?")
    with pytest.raises(PerspectiveRAGError) as caught:
        pipeline.answer(result)
    assert without_key(whole(caught.value))


def test_an_audit_whose_encoder_fails_with_a_key():
    class Failing(HashEmbedder):
        relevance_floor = PACKAGED
        embed_queries = fails

    question = AuditQuestion("1", "Should zoos be closed?", both_sides("Zoos should be closed"))
    judge, options = RuleJudge(lambda *given: 0.5), {"k": 2, "depth": 2, "encoder": Failing()}
    store = MemoryStore(SAMPLE, takes_vector=False)
    [found] = measure([question], store, None, judge, **options).degradations
    assert without_key(str(found.to_dict()) + whole(found.error))
    with pytest.raises(ConnectionError) as caught:
        measure([question], store, None, judge, strict=True, **options)
    assert without_key(whole(caught.value))


class Secret:
    """As pydantic's SecretStr."""

    def get_secret_value(self):
        return PLAIN


@pytest.mark.parametrize(
    "settings",
    [
        {"api_key": PLAIN},
        {"whatever": Secret()},
        {"default_headers": {"x-mine": PLAIN}},
        {"deep": [{"password": PLAIN}]},
        type("Client", (), {"__init__": lambda self: setattr(self, "token", PLAIN)})(),
    ],
)
def test_what_a_client_holds_is_left_out_whatever_its_shape(settings):
    assert PLAIN in secrets_of(settings)
    with pytest.raises(ConnectionError) as caught, scrubbing(settings):
        fails()
    assert PLAIN not in whole(caught.value)
    error = no_reply("m", PROMPT, OSError(f"you sent {PLAIN}"), secrets_of(settings))
    assert PLAIN not in whole(error)
    assert without_secrets(f"you sent {PLAIN}", secrets_of(settings)) == "you sent ***"


def test_errors_without_secrets_stay_as_they_are():
    error = ValueError("no passages")
    with pytest.raises(ValueError, match="no passages") as caught, scrubbing({"api_key": PLAIN}):
        raise error
    assert caught.value is error
    assert caught.value.__cause__ is None


def test_the_end_of_an_iterator_passes():
    with pytest.raises(StopIteration), scrubbing():
        next(iter(()))


class TestLangChain:
    @pytest.fixture
    def model(self):
        models = pytest.importorskip("langchain_core.language_models")
        outputs = pytest.importorskip("langchain_core.outputs")
        messages = pytest.importorskip("langchain_core.messages")
        from pydantic import SecretStr

        class Model(models.BaseChatModel):
            own_credential: SecretStr = SecretStr(PLAIN)
            says: str = ""

            @property
            def _llm_type(self):
                return "own"

            def _generate(self, *args, **kwargs):
                if not self.says:
                    fails()
                said = messages.AIMessage(self.says)
                return outputs.ChatResult(generations=[outputs.ChatGeneration(message=said)])

        return Model

    def test_a_model(self, model):
        from langchain_perspective_rag.models import LangChainLLM

        for llm in (LangChainLLM(model()), LangChainLLM(model().bind(stop=["x"]))):
            for call in (llm.complete, lambda prompt, llm=llm: asyncio.run(llm.acomplete(prompt))):
                with pytest.raises(LLMError) as caught:
                    call(PROMPT)
                assert without_key(whole(caught.value))
                assert PLAIN not in whole(caught.value)
        bound = model(says=f"your key is {PLAIN}").bind(stop=["x"])
        assert LangChainLLM(bound).complete(PROMPT).text == "your key is ***"
        reply = asyncio.run(LangChainLLM(bound).acomplete(PROMPT))
        assert reply.text == "your key is ***"

    def test_embeddings_and_stores(self):
        embeddings = pytest.importorskip("langchain_core.embeddings")
        stores = pytest.importorskip("langchain_core.vectorstores")
        runnables = pytest.importorskip("langchain_core.runnables")
        from langchain_perspective_rag.models import LangChainEmbedder
        from langchain_perspective_rag.store import LangChainStore, RetrieverStore

        class Failing(embeddings.Embeddings):
            api_key = PLAIN

            def __init__(self):
                self.openai_api_key = PLAIN

            embed_documents = embed_query = fails

        class Store(stores.InMemoryVectorStore):
            similarity_search = similarity_search_by_vector = fails
            asimilarity_search = asimilarity_search_by_vector = afails

            def __init__(self, embedding):
                super().__init__(embedding)
                self.password = PLAIN

        embedder = LangChainEmbedder(Failing())
        store = LangChainStore(Store(Failing()))
        retriever = RetrieverStore(runnables.RunnableLambda(fails, afails))
        vector = HashEmbedder().embed_queries(["a"])[0]
        of_others = (  # a retriever's own settings do not hold the word
            lambda: retriever.search("a", None, k=3),
            lambda: asyncio.run(retriever.asearch("a", None, k=3)),
        )
        for call in (
            lambda: embedder.embed_passages(["a"]),
            lambda: embedder.embed_queries(["a"]),
            lambda: embedder.embed_queries(["a", "b"]),
            lambda: store.search("a", vector, k=3),
            lambda: asyncio.run(store.asearch("a", vector, k=3)),
            *of_others,
        ):
            with pytest.raises(ConnectionError) as caught:
                call()
            assert without_key(whole(caught.value))
            assert PLAIN not in whole(caught.value) or call in of_others

    def test_the_judges_run_in_a_trace_ends_without_the_key(self):
        callbacks = pytest.importorskip("langchain_core.callbacks")
        from langchain_core.vectorstores import InMemoryVectorStore

        from langchain_perspective_rag import PerspectiveRetriever
        from perspective_rag.extend import CallableJudge
        from tests.integrations.langchain.samples import WordEmbeddings

        class Heard(callbacks.BaseCallbackHandler):
            def __init__(self):
                self.errors = []

            def on_chain_error(self, error, **kwargs):
                self.errors.append(error)

        heard = Heard()
        store = InMemoryVectorStore(WordEmbeddings())
        store.add_texts(["Zoos save species.", "Zoos are cruel."])
        retriever = PerspectiveRetriever(vectorstore=store, judge=CallableJudge(fails_for_two))
        retriever.invoke("Should zoos be closed?", config={"callbacks": [heard]})
        assert heard.errors
        assert without_key("".join(whole(error) for error in heard.errors))


def fails_for_two(perspectives, passages):
    fails()


class TestLlamaIndex:
    def test_a_model(self):
        core = pytest.importorskip("llama_index.core.llms")
        from llama_index.retrievers.perspective_rag.models import LlamaIndexLLM

        class Model(core.CustomLLM):
            api_key: str = PLAIN
            says: str = ""

            @property
            def metadata(self):
                return core.LLMMetadata(model_name="own")

            def complete(self, prompt, formatted=False, **kwargs):
                if not self.says:
                    fails()
                return core.CompletionResponse(text=self.says)

            def stream_complete(self, prompt, formatted=False, **kwargs):
                raise NotImplementedError

        llm = LlamaIndexLLM(Model())
        for call in (llm.complete, lambda prompt: asyncio.run(llm.acomplete(prompt))):
            with pytest.raises(LLMError) as caught:
                call(PROMPT)
            assert without_key(whole(caught.value))
            assert PLAIN not in whole(caught.value)
        said = LlamaIndexLLM(Model(says=f"your key is {PLAIN}")).complete(PROMPT)
        assert said.text == "your key is ***"

    def test_embeddings_and_retrievers(self):
        base = pytest.importorskip("llama_index.core.base.embeddings.base")
        retrievers = pytest.importorskip("llama_index.core.retrievers")
        from llama_index.retrievers.perspective_rag.models import LlamaIndexEmbedder
        from llama_index.retrievers.perspective_rag.store import LlamaIndexStore

        class Failing(base.BaseEmbedding):
            api_key: str = PLAIN
            _get_query_embedding = _get_text_embedding = fails
            _aget_query_embedding = afails

        class Retriever(retrievers.BaseRetriever):
            _retrieve = fails
            _aretrieve = afails

        embedder = LlamaIndexEmbedder(Failing())
        store = LlamaIndexStore(Retriever())
        for call, known in (
            (lambda: embedder.embed_passages(["a"]), True),
            (lambda: embedder.embed_queries(["a"]), True),
            (lambda: embedder.embed_queries(["a", "b"]), True),
            (lambda: store.search("a", None, k=3), False),
            (lambda: asyncio.run(store.asearch("a", None, k=3)), False),
        ):
            with pytest.raises(ConnectionError) as caught:
                call()
            assert without_key(whole(caught.value))
            assert not known or PLAIN not in whole(caught.value)
