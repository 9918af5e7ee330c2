"""The files of ``deploy/`` name what there is: options, settings, ports, paths and secrets."""

from __future__ import annotations

import argparse
import ast
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

yaml = pytest.importorskip("yaml")

from perspective_rag import Passage, PerspectivePipeline
from perspective_rag_serve.commands import serve

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
SETTINGS_OF_THE_IMAGE = {"PATH", "HF_HUB_OFFLINE", "XDG_CACHE_HOME", "PYTHONUNBUFFERED"}
PUBLIC = ("docker.io/", "ghcr.io/")


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def scraped():
    found = yaml.safe_load((DEPLOY / "prometheus.yml").read_text(encoding="utf-8"))
    return {job["job_name"]: job for job in found["scrape_configs"]}


@pytest.fixture(scope="module")
def dockerfile():
    return (DEPLOY / "Dockerfile").read_text(encoding="utf-8")


def parsed(arguments):
    """The options of ``serve``; argparse ends the test where one is unknown."""
    parser = argparse.ArgumentParser()
    serve.add_command(parser.add_subparsers())
    return parser.parse_args(arguments)


def collection():
    """deploy/collection.py as a module."""
    pytest.importorskip("langchain_qdrant")
    spec = importlib.util.spec_from_file_location("deploy_collection", DEPLOY / "collection.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def settings_read():
    """The names in SETTINGS of deploy/collection.py, without importing what it needs."""
    tree = ast.parse((DEPLOY / "collection.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "SETTINGS":
            return ast.literal_eval(node.value)
    raise AssertionError("deploy/collection.py has no SETTINGS")


def test_the_server_of_compose_is_started_with_options_that_there_are(compose):
    options = parsed(compose["services"]["server"]["command"])
    assert options.host == "0.0.0.0"
    assert options.retriever == "collection:make"


def test_the_command_of_the_image_is_one_of_the_program(dockerfile):
    (command,) = re.findall(r"^CMD (\[.*\])$", dockerfile, re.MULTILINE)
    assert parsed(ast.literal_eval(command)).retriever == "collection:make"
    assert 'ENTRYPOINT ["perspective-rag"]' in dockerfile
    assert "COPY deploy/collection.py /app/collection.py" in dockerfile
    assert "def make(" in (DEPLOY / "collection.py").read_text(encoding="utf-8")


def test_the_image_runs_as_nobody_in_particular_and_says_whether_it_lives(dockerfile):
    users = re.findall(r"^USER (.+)$", dockerfile, re.MULTILINE)
    assert users == ["10001"]
    assert "/healthz" in dockerfile.partition("HEALTHCHECK")[2]


def test_every_variable_of_the_environment_is_read(compose, dockerfile):
    known = settings_read()
    for name in ("server", "fill"):
        assert set(compose["services"][name]["environment"]) <= set(known), name
    (line,) = re.findall(r"^ENV (.+)$", dockerfile, re.MULTILINE)
    assert {each.partition("=")[0] for each in line.split()} == SETTINGS_OF_THE_IMAGE


def test_addresses_in_the_environment_are_those_of_services(compose):
    services = compose["services"]
    for name in ("QDRANT_URL", "ENCODER_URL"):
        address = services["server"]["environment"][name]
        host, port = re.fullmatch(r"http://(\w+):(\d+)(?:/v1)?", address).groups()
        assert host in services
        if host == "encoder":
            command = services[host]["command"]
            assert command[command.index("--port") + 1] == port


def test_the_encoder_serves_the_model_that_the_server_asks_for(compose):
    command = compose["services"]["encoder"]["command"]
    asked = compose["services"]["server"]["environment"]["ENCODER_MODEL"]
    assert command[command.index("--model-id") + 1] == asked


def test_ports_agree_and_are_open_to_this_machine_alone(compose, dockerfile):
    options = parsed(compose["services"]["server"]["command"])
    assert compose["services"]["server"]["ports"] == [f"127.0.0.1:{options.port}:{options.port}"]
    assert f"EXPOSE {options.port}" in dockerfile
    for service in compose["services"].values():
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:")
    test = compose["services"]["server"]["healthcheck"]["test"]
    assert f"127.0.0.1:{options.port}/readyz" in test[-1]


def test_prometheus_asks_where_the_server_tells_with_its_token_and_by_an_allowed_name(
    compose, scraped
):
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    from perspective_rag_serve.app import create_app
    from perspective_rag_serve.loading import Loaded
    from perspective_rag_serve.settings import ServeSettings

    job = scraped["perspective-rag"]
    options = parsed(compose["services"]["server"]["command"])
    (target,) = job["static_configs"][0]["targets"]
    host, _, port = target.partition(":")
    assert (host, int(port)) == ("server", options.port)
    assert host in compose["services"]
    assert job["authorization"]["credentials_file"] == str(options.token_file)
    for name in ("server", "prometheus"):
        assert compose["services"][name]["secrets"] == ["token"]
    assert str(options.token_file) == "/run/secrets/token"
    token = "a-token-of-this-test"
    settings = ServeSettings(token=token, hosts=tuple(options.allow_host))
    app = create_app(lambda progress: Loaded(None), settings)
    client = TestClient(app, base_url=f"http://{target}")
    headers = {"Authorization": f"Bearer {token}"}
    reply = client.get(job["metrics_path"], headers=headers)
    assert reply.status_code == 200
    assert "perspective_rag_ready" in reply.text
    assert client.get(job["metrics_path"]).status_code == 401
    for path in ("/healthz", "/readyz"):
        assert client.get(path).status_code in (200, 503)


def test_what_is_scraped_and_what_is_waited_for_are_services(compose, scraped):
    for job in scraped.values():
        for target in job["static_configs"][0]["targets"]:
            assert target.partition(":")[0] in compose["services"]
    for service in compose["services"].values():
        assert set(service.get("depends_on", ())) <= set(compose["services"])
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert source.startswith(".") or source in compose["volumes"]
    assert (DEPLOY / "prometheus.yml").is_file()


def test_images_are_public_and_of_a_version(compose, dockerfile):
    images = [each["image"] for each in compose["services"].values() if "image" in each]
    images += re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)
    for image in images:
        name, _, version = image.rpartition(":")
        assert version, image
        assert version != "latest"
        host = name.partition("/")[0]
        assert "." not in host or name.startswith(PUBLIC), image


def test_docker_compose_accepts_it(tmp_path):
    if shutil.which("docker") is None:
        pytest.skip("there is no docker")
    version = subprocess.run(["docker", "compose", "version"], capture_output=True)
    if version.returncode != 0:
        pytest.skip("docker has no compose")
    command = ["docker", "compose", "-f", str(DEPLOY / "compose.yaml"), "config", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class ByWord:
    """A vector with a place for each of a few words."""

    words = ("close", "keep", "zoo", "car")

    def embed_queries(self, texts):
        return np.array([[0.1 + text.lower().count(word) for word in self.words] for text in texts])

    embed_passages = embed_queries


@pytest.mark.filterwarnings("ignore:.*local mode")
def test_the_collection_is_made_filled_twice_and_searched(monkeypatch):
    module = collection()
    from qdrant_client import QdrantClient

    from perspective_rag_scale.sinks.qdrant import QdrantSink

    monkeypatch.setenv("SHARDS", "2")
    client, embedder = QdrantClient(":memory:"), ByWord()
    passages = [
        Passage("a", "Close the zoo: cages are cruel.", {"title": "Cages"}),
        Passage("b", "Keep the zoo: it saves species.", {"title": "Species"}),
        Passage("c", "A car needs a road.", {}),
    ]
    store = module.make(client, embedder)
    assert module.fill(passages, client, embedder) == 3
    assert module.fill(iter(passages), client, embedder) == 3
    assert client.count("passages").count == 3
    found = store.similarity_search_by_vector(embedder.embed_queries(["close zoo"])[0].tolist(), 2)
    assert [each.page_content for each in found] == [passages[0].text, passages[1].text]
    assert {each.metadata["passage_id"] for each in found} == {"a", "b"}
    sink = QdrantSink(":memory:", "passages", client=client)
    sink.write(passages, embedder.embed_passages([p.titled for p in passages]), 0)
    assert client.count("passages").count == 3, "the command index writes the same points"
    from langchain_perspective_rag import as_store

    made, encoder = as_store(store)
    pipeline = PerspectivePipeline(made, embedder=encoder, k=2)
    result = pipeline.retrieve("close the zoo", perspectives=["close the zoo", "keep the zoo"])
    assert {each.text for each in result.passages} == {passages[0].text, passages[1].text}


def test_every_search_of_the_collection_is_rescored(monkeypatch):
    module = collection()
    from qdrant_client import QdrantClient

    client, embedder, seen = QdrantClient(":memory:"), ByWord(), []
    store = module.make(client, embedder)
    module.fill([Passage("a", "Close the zoo.")], client, embedder)
    inner = client.query_points
    monkeypatch.setattr(
        client, "query_points", lambda **asked: seen.append(asked) or inner(**asked)
    )
    store.similarity_search_by_vector([0.0, 1.0, 0.0, 0.0], 5)
    (asked,) = seen
    assert asked["search_params"].quantization.rescore is True
    assert asked["search_params"].quantization.oversampling == 3.0
