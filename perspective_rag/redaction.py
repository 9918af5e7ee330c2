"""What servers and stores say, without the secrets they repeat: keys, passwords, tokens.

Everything of theirs that is shown, kept or raised passes here before it is cut: a server may echo
the key it was sent, and a database the address with its password.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NoReturn
from urllib.parse import quote, quote_plus, urlsplit

HIDDEN = "***"
_LEAST = 7  # characters of a known secret; "none" or "test" may stand anywhere

_SECRET_NAME = re.compile(
    r"api[-_ ]?key|access[-_ ]?key|account[-_ ]?key|private[-_ ]?key|subscription[-_ ]?key|secret"
    r"|passw|passphrase|pwd|credential|authoriz|bearer|cookie|signature|connection[-_ ]?string"
    r"|headers|extra_query|\bdsn\b|(?<![a-z])token$|^key$",
    re.IGNORECASE,
)
# Every repetition has a bound, so that each is linear in time.
_VALUE = r"""(?:\\?"[^"\\\n]{1,500}|\\?'[^'\\\n]{1,500}|[^\s"'\\,;&()\[\]{}<>]{1,500})"""
_BETWEEN = r"""(?:\\?["'])?\s{0,3}[:=]\s{0,3}(?:(?:bearer|basic|token)\s{1,3})?"""
_NAMED = re.compile(
    r"((?:api[-_ ]?key|access[-_ ]?key|account[-_ ]?key|private[-_ ]?key|subscription[-_ ]?key"
    r"|secret|passw(?:or)?d|passphrase|\bpwd|credentials?|authorization|cookie|signature"
    r"|(?<![a-z])token(?![a-z]))[\w-]{0,20}"
    rf"{_BETWEEN})({_VALUE})",
    re.IGNORECASE,
)
# A "key" may be that of a dictionary or a row; one of eight characters with a digit is a secret.
_KEY = re.compile(
    r"""(\bkey(?:\\?["'])?\s{0,3}[:=]\s{0,3}\\?["']?)(?=[^\s"'&]{0,100}\d)[^\s"'\\,;&)}\]]{8,500}""",
    re.IGNORECASE,
)
_IN_ADDRESS = re.compile(r"(?<=://)[^\s/?#\"'<>]{1,500}@")
_SCHEME = re.compile(r"\b(bearer|basic)\s{1,3}[\w.~+/=-]{8,}", re.IGNORECASE)
_SHAPES = re.compile(
    r"\b(?:(?:sk|pk|rk)-[\w-]{12,}|(?:AKIA|ASIA)[0-9A-Z]{12,}|gh[opsur]_\w{16,}|github_pat_\w{16,}"
    r"|hf_\w{16,}|xox[a-z]-[\w-]{8,}|AIza[\w-]{20,}|eyJ[\w-]{10,2000}\.[\w-]{5,2000}(?:\.[\w-]+)?)"
)


def redacted(text: str, known: Iterable[str] = ()) -> str:
    """A text without what looks like a secret, and without the ``known`` ones in any usual writing.

    Secrets are the values of names such as "password" and "api_key", users in addresses
    (``postgres://user:word@host``), bearer tokens, and the shapes of well-known keys. It is a net
    under what components hide themselves: a secret without a name or a shape is not seen.
    """
    text = without_secrets(text, known)
    text = _IN_ADDRESS.sub(f"{HIDDEN}@", text)
    text = _NAMED.sub(rf"\1{HIDDEN}", text)
    text = _KEY.sub(rf"\1{HIDDEN}", text)
    return _SHAPES.sub(HIDDEN, _SCHEME.sub(rf"\1 {HIDDEN}", text))


def without_secrets(text: str, known: Iterable[str]) -> str:
    """Removes known secrets from a text, in plain form and as addresses and strings write them.

    Args:
        text: The text.
        known: The secrets, as ``secrets_of`` finds them; those under 7 characters are left alone.

    Returns:
        The text with ``***`` in their place.
    """
    for secret in known:
        if len(secret) >= _LEAST:
            plain = secret.encode("utf-8", "surrogatepass")
            for written in {secret, quote(plain), quote(plain, ""), quote_plus(plain)}:
                text = text.replace(written, HIDDEN)
    return text


def scrubbed(error: Exception, known: Iterable[str] = ()) -> Exception:
    """The error with the texts of it, of its causes and of its notes ``redacted``.

    It stays the same object where its texts can be changed; otherwise one of the same kind, or a
    RuntimeError that names it, stands in its place.
    """
    known = tuple(known)
    found: Exception = _clean(error, known)
    seen = {id(found)}
    each: BaseException = found
    while (following := each.__cause__ or each.__context__) is not None:
        if id(following) in seen:
            break
        clean = _clean(following, known)
        if clean is not following:
            each.__cause__ = clean
            clean.__cause__ = following.__cause__ or following.__context__
        seen.add(id(clean))
        each = clean
    return found


@contextmanager
def scrubbing(*settings: object) -> Iterator[None]:
    """Removes secrets from whatever is raised inside, its causes and notes included.

    Args:
        *settings: Clients or mappings whose secrets (``secrets_of``) are removed, besides what
            looks like one.

    Yields:
        Nothing.
    """
    try:
        yield
    except Exception as error:
        raise_scrubbed(error, secrets_of(*settings))


def raise_scrubbed(error: Exception, known: Iterable[str] = ()) -> NoReturn:
    """Raises the error ``scrubbed``, from where it was caught."""
    clean = scrubbed(error, known)
    try:
        raise clean
    finally:
        if clean is not error:
            clean.__context__ = None  # the error as it was


def secrets_of(*settings: object) -> list[str]:
    """Finds the secrets in the settings of a client.

    Args:
        *settings: Mappings, or objects with attributes.

    Returns:
        The values of fields named like secrets, at any depth, and the users and passwords in
        addresses. A value with ``get_secret_value`` (pydantic) or ``resolve_value`` (Haystack) is a
        secret whatever its field is called.
    """
    fields = (
        each if isinstance(each, Mapping) else getattr(each, "__dict__", {}) for each in settings
    )
    return [secret for each in fields for secret in _secrets(each, False)]


def is_secret(name: str) -> bool:
    """Whether a field of that name holds a secret."""
    return bool(_SECRET_NAME.search(name))


def public(value: Any) -> Any:
    """A setting without the fields that hold secrets, at any depth, and its texts ``redacted``."""
    if isinstance(value, Mapping):
        return {name: public(each) for name, each in value.items() if not is_secret(str(name))}
    if isinstance(value, (list, tuple)):
        return [public(each) for each in value]
    return redacted(value) if isinstance(value, str) else value


def public_address(url: str | None) -> str | None:
    """An address without user, parameters and fragment."""
    parts = urlsplit(url) if url else None
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}" if parts else None


def _secrets(value: Any, secret: bool) -> Iterator[str]:
    if callable(getattr(value, "get_secret_value", None)):
        value, secret = value.get_secret_value(), True
    elif callable(getattr(value, "resolve_value", None)):
        with suppress(Exception):  # its environment variable is not set
            value, secret = value.resolve_value(), True
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _secrets(each, secret or is_secret(str(name)))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _secrets(each, secret)
    elif isinstance(value, str) and secret:
        yield from (value, *value.split()[-1:])  # also without "Bearer"
    elif isinstance(value, str) and "://" in value:
        parts = urlsplit(value)
        yield from (each for each in (parts.password, parts.username) if each)


def _clean(error: Any, known: tuple[str, ...]) -> Any:
    """The error itself where it holds no secret or could be rid of them, else one in its place."""
    if not any(_held(error, known)):
        return error
    arguments = tuple(_argument(each, known) for each in error.args)
    error.args = arguments
    for name, value in list(vars(error).items()):
        if isinstance(value, str):
            setattr(error, name, redacted(value, known))
        elif name == "__notes__":
            error.__notes__ = [redacted(str(note), known) for note in value]
        elif value is not None and redacted(repr(value), known) != repr(value):
            setattr(error, name, None)
    if not any(_held(error, known)):
        return error
    said = redacted(str(error), known)
    with suppress(Exception):  # whatever its constructor wants
        instead = type(error)(*arguments)
        if not any(_held(instead, known)):
            return instead
    return RuntimeError(f"{type(error).__name__}: {said}")


def _held(error: BaseException, known: tuple[str, ...]) -> Iterator[bool]:
    notes = getattr(error, "__notes__", ())
    for text in (str(error), repr(error), *vars(error).values(), *notes):
        yield isinstance(text, str) and redacted(text, known) != text


def _argument(value: Any, known: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        return redacted(value, known)
    said = repr(value)
    return value if redacted(said, known) == said else redacted(said, known)
