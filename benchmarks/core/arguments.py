"""What the command lines share."""

from __future__ import annotations

import argparse


def whole(text: str) -> int:
    """A whole number of at least 1, for ``argparse``."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number of at least 1 is needed, not {text!r}")
    return int(text)
