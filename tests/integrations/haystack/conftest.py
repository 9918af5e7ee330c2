"""Nothing here runs without Haystack."""

from __future__ import annotations

import pytest

pytest.importorskip("haystack")
