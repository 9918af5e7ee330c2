"""Reading TOML files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from perspective_rag import ConfigError, MissingDependency


def read_toml(path: Path, *, extra: str) -> dict[str, Any]:
    """The document in a TOML file.

    Raises ConfigError for a file that cannot be read or is not TOML, MissingDependency that names
    ``extra`` on Python 3.10 without tomli.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib
        except ImportError as error:
            raise MissingDependency(extra, "reading TOML on Python 3.10") from error
    try:
        found: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    return found
