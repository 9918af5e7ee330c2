"""Installs what was built into empty environments and runs the first example of each README.

    python distributions/check.py dist

Each environment gets a distribution from the wheels in the folder, and what it depends on from the
package registry. The code run is that of the README in the wheel's own metadata.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

EXAMPLES = {
    "perspective-rag[local]": """
import subprocess, sys
subprocess.run(
    ["perspective-rag", "ask", "Should private cars be banned from city centres?", "--example"],
    check=True, stdout=subprocess.DEVNULL,
)
""",
    "langchain-perspective-rag": """
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
vectorstore = InMemoryVectorStore(DeterministicFakeEmbedding(size=32))
vectorstore.add_documents([Document(text, id=text) for text in TEXTS])
run()
found = [document.metadata["perspective_rag_supports"] for document in documents]
""",
    "llama-index-retrievers-perspective-rag": """
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.schema import TextNode
index = VectorStoreIndex([TextNode(text=text) for text in TEXTS], embed_model=MockEmbedding(8))
run()
found = [node.metadata["perspective_rag_supports"] for node in nodes]
""",
    "perspective-rag-haystack": """
from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore
document_store = InMemoryDocumentStore()
document_store.write_documents([Document(content=text) for text in TEXTS])
run()
found = [document.meta["perspective_rag_supports"] for document in documents]
""",
}
PROGRAM = """
import importlib.metadata, re
TEXTS = ["Zoos should be closed.", "Zoos should not be closed."]

def run():
    about = importlib.metadata.metadata("{name}").get_payload()
    code = re.search("```python\\n(.*?)```", about, re.DOTALL).group(1)
    exec(compile(code, "README", "exec"), globals())

found = None
{example}
if found is not None:
    assert set(found) == {{"support", "oppose"}}, found
for heavy in {unwanted}:
    try:
        importlib.metadata.version(heavy)
    except importlib.metadata.PackageNotFoundError:
        continue
    raise AssertionError(heavy + " came along")
"""


def main() -> None:
    """Checks every distribution; raises CalledProcessError for the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the wheels are")
    wheels = parser.parse_args().folder.resolve()
    for requirement, example in EXAMPLES.items():
        name = requirement.partition("[")[0]
        unwanted = () if name == "perspective-rag" else ("faiss-cpu", "torch", "bm25s")
        with tempfile.TemporaryDirectory() as folder:
            venv.create(folder, with_pip=True)
            programs = Path(folder) / ("Scripts" if os.name == "nt" else "bin")
            python = str(programs / "python")
            install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            found = ["--find-links", str(wheels)]
            path = os.pathsep.join([str(programs), os.environ.get("PATH", "")])
            own = {**os.environ, "PATH": path, "HF_HUB_OFFLINE": "1"}
            own["HAYSTACK_TELEMETRY_ENABLED"] = "False"
            own.pop("PYTHONPATH", None)
            subprocess.run([*install, *found, requirement], check=True, env=own)
            program = PROGRAM.format(name=name, example=example, unwanted=repr(unwanted))
            subprocess.run([python, "-c", program], check=True, cwd=folder, env=own)
        sys.stdout.write(f"{requirement}: installed and its first example works\n")


if __name__ == "__main__":
    main()
