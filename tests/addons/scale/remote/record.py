"""Records what a real vLLM server answers to our clients, for tests/addons/scale/remote/test_recorded.py.

vllm serve FOLDER --served-model-name model ...
python -m tests.addons.scale.remote.record http://127.0.0.1:8000 embeddings|classify|chat

The servers: a sentence embedding model (``--runner pooling``), the packaged judge as
``perspective-rag judge export --to vllm`` writes it (``--runner pooling``), and a small language
model with ``--max-model-len 1024``.
"""

from __future__ import annotations

import argparse
import sys

from perspective_rag.judge.cross_encoder import DEFAULT_MODEL
from perspective_rag.storage.fingerprint import file_sha256
from tests.addons.scale.remote.exchanges import Forwarding, Recording, asked
from tests.addons.scale.remote.scenarios import SCENARIOS


def main() -> int:
    """Asks a server that is there, and writes a file of tests/addons/scale/remote/recorded/."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("url", help="of the server, without a path")
    parser.add_argument("scenario", choices=SCENARIOS)
    options = parser.parse_args()
    url = options.url.rstrip("/")
    _, version = asked(f"{url}/version", None)
    _, models = asked(f"{url}/v1/models", None)
    model = models["data"][0]["id"]
    forwarding = Forwarding(url)
    with forwarding.server() as server:
        for name, found in SCENARIOS[options.scenario](server.url, model).items():
            sys.stdout.write(f"{name}: {found}\n")
    recording = Recording(
        scenario=options.scenario,
        engine="vllm",
        version=version["version"],
        model=model,
        files=file_sha256(DEFAULT_MODEL / "model.onnx") if options.scenario == "classify" else None,
        exchanges=forwarding.kept,
    )
    sys.stdout.write(f"{recording.write()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
