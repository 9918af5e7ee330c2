"""Prompts as text files, each replaceable by a user's own file, and fences around quoted text.

A file holds the system text, the line ``--- user ---`` and the user text; ``{{name}}`` marks the
place of a value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perspective_rag.errors import ConfigError, unknown_name
from perspective_rag.prompts.markers import without_markers
from perspective_rag.storage.fingerprint import fingerprint
from perspective_rag.types import Prompt

_FOLDER = Path(__file__).parent
_SEPARATOR = re.compile(r"^--- user ---[ \t]*\n", re.MULTILINE)
_PLACE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_FENCE_LIKE = re.compile(r"<(?=\s*(?:/\s*)?passage)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A prompt with places for values; ``hash`` identifies its exact wording."""

    name: str
    system: str
    user: str
    hash: str

    @property
    def places(self) -> frozenset[str]:
        """The names of the values it takes."""
        return frozenset(_PLACE.findall(self.system) + _PLACE.findall(self.user))

    def fill(self, **values: object) -> Prompt:
        """The prompt with values inserted: ``{{name}}`` within a value stays as it is, and markers
        of chat templates are broken (``markers.without_markers``).

        Values without a place are left out. Raises ConfigError for a place without a value.
        """
        missing = self.places - values.keys()
        if missing:
            raise ConfigError(f"prompt {self.name!r} needs a value for {sorted(missing)}")

        def value_of(match: re.Match[str]) -> str:
            return without_markers(str(values[match[1]]))

        return Prompt(
            name=self.name,
            system=_PLACE.sub(value_of, self.system),
            user=_PLACE.sub(value_of, self.user),
        )


def load_prompt(name: str, path: str | Path | None = None) -> PromptTemplate:
    """The prompt of that name, or the one in the file ``path`` in its place.

    Raises ConfigError for a name that does not exist, a file that cannot be read or has no user
    text, and for a ``{{place}}`` that the stage has no value for.
    """
    known = {file.stem: file for file in _FOLDER.glob("*.txt")}
    if name not in known:
        raise unknown_name(name, known, "prompt")
    template = read_prompt(known[name])
    if path is None:
        return template
    own = replace(read_prompt(path), name=name)
    for place in sorted(own.places - template.places):
        raise ConfigError(f"{path}: {unknown_name(place, template.places, 'place')}")
    return own


def read_prompt(path: str | Path) -> PromptTemplate:
    """The prompt in a file, named after it; raises ConfigError for a file that holds none."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the prompt {path} cannot be read: {error}") from error
    parts = _SEPARATOR.split(text)
    if len(parts) > 2 or not parts[-1].strip():
        raise ConfigError(
            f"{path}: a prompt is a system text, one line '--- user ---', a user text"
        )
    system = parts[0] if len(parts) == 2 else ""
    known = fingerprint(text, digits=12)
    return PromptTemplate(Path(path).stem, system.strip(), parts[-1].strip(), known)


def fence(texts: Sequence[str]) -> str:
    """Texts as numbered blocks between tags that the texts cannot close.

    The tags carry a hash of everything inside, so that equal requests give equal prompts and no
    text can hold its own tag; anything in a text that looks like such a tag is made harmless.
    """
    tag = f"passage-{fingerprint(*texts)}"
    blocks = (
        f'<{tag} number="{number}">\n{_FENCE_LIKE.sub("‹", text)}\n</{tag}>'
        for number, text in enumerate(texts, start=1)
    )
    return "\n".join(blocks)


def shorten(text: str, limit: int) -> str:
    """The text, cut at the last space within ``limit`` characters where it is longer."""
    if len(text) <= limit:
        return text
    cut = text[: limit + 1].rsplit(None, 1)[0] if text[:limit].split() else ""
    # A text without spaces has no better place to be cut.
    return cut if limit // 2 < len(cut) <= limit else text[:limit]
