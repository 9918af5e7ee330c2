"""The weights of perspective-rag's larger judge, which reads again what is to be listed.

Nothing but a folder: ``perspective_rag`` finds it by this package's name and runs what is in it.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["weights"]


def weights() -> Path:
    """The folder with ``model.onnx``, ``tokenizer.json`` and ``judge.json``."""
    return Path(__file__).parent / "weights"
