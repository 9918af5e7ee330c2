"""The real vLLM on a CPU: one engine and one server of a small model for all tests here."""

from __future__ import annotations

import pytest

OPTIONS = {
    "dtype": "float32",
    "enforce_eager": True,
    "max_model_len": 1024,
    "max_num_seqs": 8,
    "block_size": 32,
}


@pytest.fixture(scope="session", autouse=True)
def small_and_patient():
    """Memory and threads for a machine with other work on it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
        patch.setenv("VLLM_CPU_OMP_THREADS_BIND", "nobind")
        patch.setenv("VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS", "1800")
        yield


@pytest.fixture(scope="session")
def folder():
    """SmolLM2-135M-Instruct as a folder, made once from the GGUF file of its package."""
    for needed in ("vllm", "gguf", "transformers"):
        pytest.importorskip(needed)
    from benchmarks.core.model_folder import small_model_folder
    from perspective_rag import ConfigError

    try:
        return small_model_folder()
    except ConfigError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def engine(folder, small_and_patient):
    from perspective_rag_scale.vllm_engine import VLLMEngine

    engine = VLLMEngine(folder, options=OPTIONS)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def server(folder, small_and_patient, tmp_path_factory):
    """The base URL of the same model's server, which calls it "small"."""
    from benchmarks.vllm.server import vllm_server

    flags = [
        word
        for name, value in OPTIONS.items()
        for word in (f"--{name.replace('_', '-')}", "" if value is True else str(value))
        if word
    ]
    log = tmp_path_factory.mktemp("server") / "log.txt"
    with vllm_server(folder, flags, name="small", log=log) as url:
        yield url
