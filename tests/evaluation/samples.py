"""What a chain retrieved for one question, and what the packaged judge is known to say of it."""

from __future__ import annotations

QUESTION = "Should zoos be closed?"
FOR = "Zoos should be closed, because animals suffer in cages and no ticket justifies that."
AGAINST = "Zoos should stay open: without their breeding programmes species would be extinct."
OTHER = "Bridges rust when nobody paints them."
CHAINS = {
    "both sides": [FOR, AGAINST],
    "one side": [FOR, OTHER],
    "another topic": [OTHER],
}
