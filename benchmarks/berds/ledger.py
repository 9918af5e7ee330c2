"""Append-only files that survive being killed; see ``perspective_rag.ledger``."""

from __future__ import annotations

from perspective_rag.ledger import Ledger as Ledger
