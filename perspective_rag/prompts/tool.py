"""What a language model reads of a retriever that it may call as a tool, in every framework."""

from __future__ import annotations

TOOL_NAME = "search_every_side"
TOOL_DESCRIPTION = (
    "Finds passages on every side of a question, and says which side each one supports. "
    "The query is a whole question."
)
TOOL_QUERY = "The question, in full; never empty."
TOOL_PERSPECTIVES = (
    "The sides to look for, each as a full statement about the question ('Zoos save rare "
    "species from extinction', not 'conservation'); left out, they are found."
)
