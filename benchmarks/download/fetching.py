"""One file over HTTPS: resumed where it was cut off, checked before it is used."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from benchmarks.download.sources import RemoteFile
from perspective_rag import CorpusError

TRIES = 3
TIMEOUT = 60.0
_CHUNK = 1 << 16

Progress = Callable[[int, int | None], None]
"""Told how many bytes there are now, and how many there will be where the server says so."""


class _CutOff(Exception):
    """The connection ended before the file did; what came is kept."""


def fetch(file: RemoteFile, path: Path, *, told: Progress = lambda done, total: None) -> bool:
    """Puts the file at ``path``; False where it was there already with the right hash.

    A part that was fetched earlier is continued, if the server can and has not changed the file.
    Raises CorpusError when the file cannot be had, or when its hash is wrong; then nothing is kept.
    """
    if path.is_file() and (_problem(file, path) is None):
        return False
    part = path.with_name(path.name + ".part")
    part.parent.mkdir(parents=True, exist_ok=True)
    for left in reversed(range(TRIES)):
        try:
            _transfer(file.url, part, told)
            break
        except (urllib.error.URLError, http.client.HTTPException, OSError, _CutOff) as error:
            status = getattr(error, "code", None)
            too_long = status == http.client.REQUESTED_RANGE_NOT_SATISFIABLE
            if too_long:
                part.unlink(missing_ok=True)
            if status is not None and status < 500 and not too_long:
                raise CorpusError(f"{file.url} cannot be downloaded: {error}") from error
            if left == 0:
                raise CorpusError(
                    f"{file.url} cannot be downloaded: {error}; the same command goes on from "
                    f"what was kept in {part.parent}"
                ) from error
    problem = _problem(file, part)
    if problem is not None:
        part.unlink()
        _tag(part).unlink(missing_ok=True)
        raise CorpusError(
            f"{file.url} is not the file that the benchmark knows: {problem}. Nothing was kept; "
            "try again, and if it stays so, the file was changed by its owners"
        )
    os.replace(part, path)
    _tag(part).unlink(missing_ok=True)
    return True


def _transfer(url: str, part: Path, told: Progress) -> None:
    known = part.stat().st_size if part.is_file() else 0
    tag = _tag(part).read_text("utf-8") if _tag(part).is_file() else ""
    headers = {"User-Agent": "perspective-rag benchmarks"}
    if known and tag:  # without a tag, two versions of a file could be joined
        headers |= {"Range": f"bytes={known}-", "If-Range": tag}
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
        goes_on = response.status == http.client.PARTIAL_CONTENT
        done = known if goes_on else 0
        length = response.headers.get("Content-Length")
        total = done + int(length) if length is not None else None
        etag = response.headers.get("ETag") or ""
        if etag and not etag.startswith("W/"):
            _tag(part).write_text(etag, "utf-8")
        else:
            _tag(part).unlink(missing_ok=True)
        with part.open("ab" if goes_on else "wb") as stream:
            while chunk := response.read(_CHUNK):
                stream.write(chunk)
                done += len(chunk)
                told(done, total)
    if total is not None and done < total:
        raise _CutOff(f"{done} of {total} bytes came")


def _problem(file: RemoteFile, path: Path) -> str | None:
    """What is wrong with the file's hash, or None; without a known hash nothing is."""
    data = path.read_bytes()
    if file.sha256 is not None and (found := hashlib.sha256(data).hexdigest()) != file.sha256:
        return f"its SHA-256 is {found}, expected {file.sha256}"
    if file.git_blob is not None:
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        if blob != file.git_blob:
            return f"its git blob id is {blob}, expected {file.git_blob}"
    return None


def _tag(part: Path) -> Path:
    return part.with_name(part.name + ".etag")
