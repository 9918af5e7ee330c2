"""``python -m perspective_rag``: the command line."""

from __future__ import annotations

import sys

from perspective_rag.cli import main

sys.exit(main())
