"""A small debate: plain search finds one of its sides only."""

from __future__ import annotations

QUESTION = "Should zoos be closed?"
# The passages against share fewer words with the question.
TEXTS = {
    "for-1": "zoos should be closed because cages are cruel",
    "for-2": "zoos should be closed and the animals freed",
    "for-3": "should zoos be closed yes they should be closed soon",
    "for-4": "closed zoos should be turned into parks",
    "against-1": "zoos keep rare species alive through breeding",
    "against-2": "children learn to love animals when zoos stay open",
    "other-1": "the zoos of the city sell ice cream",
    "other-2": "bridges rust when nobody paints them",
    "other-3": "trains run late in the autumn leaves",
    "other-4": "the museum should be closed on mondays",
}
SIDES = {"for": "support", "against": "oppose"}
