"""The tools run offline: their telemetry is off, and who reaches for the network fails the test."""

from __future__ import annotations

import os
import socket

import pytest

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"
os.environ["RAGAS_DO_NOT_TRACK"] = "true"
os.environ["CONFIDENT_OPEN_BROWSER"] = "0"


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    """In an empty folder (the tools write into it), and without a network."""
    tried = []

    def connect(self, address):
        tried.append(address)
        raise OSError("no network here")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *address, **_: connect(None, address))
    monkeypatch.chdir(tmp_path)
    yield
    assert not tried
