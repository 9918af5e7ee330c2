"""Stores that need a server, through their own clients, against a local one that stands in for it.

The stand-in answers the endpoints that the clients call, in the documented shapes, by brute force
(Qdrant's: by the engine of its own local mode). It shows that the adapters ask rightly and read
the answers rightly; that a real server answers alike it cannot show.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlparse

import numpy as np
import pytest

from perspective_rag.testing import STORE_CHECKS
from tests.integrations.conforming import DIMENSIONS
from tests.integrations.langchain.samples import filled_case, qdrant_filter

TABLE = "langchain-http"


class SearchEngine(BaseHTTPRequestHandler):
    """What Elasticsearch and OpenSearch have in common, for indices that ``server`` keeps."""

    protocol_version = "HTTP/1.1"

    def handle_one(self):
        path, length = urlparse(self.path).path, int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length).decode()
        self.server.asked.append((self.command, path, raw))
        *index, action = path.strip("/").split("/")
        name = index[0] if index else action
        kept = self.server.indices
        if path == "/":
            return self.answer({"version": {"number": "8.19.0"}, "tagline": "You Know, for Search"})
        if action == "_bulk":
            return self.answer({"took": 1, "errors": False, "items": self.bulk(raw)})
        if action == "_refresh":
            return self.answer({"_shards": {"failed": 0}})
        if self.command == "PUT":
            kept[name] = {}
            return self.answer({"acknowledged": True})
        if name not in kept:
            return self.answer({"error": {"type": "index_not_found_exception"}}, 404)
        if action == "_search":
            return self.answer({"hits": {"hits": self.hits(kept[name], json.loads(raw))}})
        if action == "_mget":
            found = [(each, kept[name].get(each)) for each in json.loads(raw)["ids"]]
            docs = [{"_id": i, "found": s is not None, "_source": s or {}} for i, s in found]
            return self.answer({"docs": docs})
        return self.answer({name: {}})

    def bulk(self, raw):
        items, lines = [], iter(raw.splitlines())
        for line in lines:
            ((action, where),) = json.loads(line).items()
            rows = self.server.indices[where["_index"]]
            if action == "delete":
                rows.pop(where["_id"], None)
            else:
                rows[where["_id"]] = json.loads(next(lines))
            items.append({action: {"_id": where["_id"], "status": 200}})
        return items

    def hits(self, rows, body):
        if "knn" in body:
            knn = body["knn"]
            field, vector, clauses = knn["field"], knn["query_vector"], knn.get("filter") or []
            assert knn["k"] <= knn["num_candidates"], "Elasticsearch refuses fewer candidates"
        else:
            ((field, knn),) = body["query"]["knn"].items()
            vector, clauses = knn["vector"], [knn["filter"]] if "filter" in knn else []
        passing = {
            name: row
            for name, row in rows.items()
            if all(fits(row, clause["term"]) for clause in clauses)
        }
        score = {n: 1.0 + float(np.dot(row[field], vector)) for n, row in passing.items()}
        best = sorted(passing, key=lambda name: -score[name])[: min(knn["k"], body["size"])]
        return [{"_id": n, "_score": score[n], "_source": passing[n]} for n in best]

    def answer(self, body, status=200):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *args):
        pass

    do_GET = do_PUT = do_POST = do_HEAD = handle_one


def fits(row, term):
    ((field, value),) = term.items()
    _, key, _ = field.split(".")
    return row["metadata"].get(key) == value


class Qdrant(SearchEngine):
    """Qdrant's REST endpoints, answered by the engine of its local mode."""

    def handle_one(self):
        models, local = self.server.models, self.server.local
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length).decode()
        path = urlparse(self.path).path
        self.server.asked.append((self.command, path, raw))
        body, parts = json.loads(raw or "{}"), path.strip("/").split("/")
        if path == "/":
            return self.answer({"title": "qdrant", "version": "1.20.0"})
        name, rest = parts[1], parts[2:]
        if not rest and self.command == "PUT":
            size, distance = body["vectors"]["size"], models.Distance(body["vectors"]["distance"])
            given = models.VectorParams(size=size, distance=distance)
            found = local.create_collection(name, vectors_config=given)
        elif not rest:
            found = local.get_collection(name).model_dump(mode="json")
        elif rest == ["exists"]:
            found = {"exists": local.collection_exists(name)}
        elif rest == ["points"] and self.command == "PUT":
            points = [models.PointStruct(**point) for point in body["points"]]
            found = local.upsert(name, points).model_dump(mode="json")
        elif rest == ["points"]:
            rows = local.retrieve(name, body["ids"], with_vectors=body["with_vector"])
            found = [row.model_dump(mode="json") for row in rows]
        elif rest == ["points", "delete"]:
            found = local.delete(name, body["points"]).model_dump(mode="json")
        else:
            query = body["query"]["nearest"] if isinstance(body["query"], dict) else body["query"]
            only = models.Filter(**body["filter"]) if body.get("filter") else None
            wanted = {"limit": body["limit"], "query_filter": only, "with_payload": True}
            found = local.query_points(name, query, **wanted).model_dump(mode="json")
        return self.answer({"result": found, "status": "ok", "time": 0.0})

    do_GET = do_PUT = do_POST = do_HEAD = handle_one


@pytest.fixture(scope="module")
def servers():
    """Starts stand-ins and stops them in the end."""
    started = []

    def start(handler, **parts):
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.indices, server.asked = {}, []
        for name, part in parts.items():
            setattr(server, name, part)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        started.append(server)
        return server, f"http://127.0.0.1:{server.server_address[1]}"

    yield start
    for server in started:
        server.shutdown()


def elasticsearch(embeddings, start):
    module = pytest.importorskip("langchain_elasticsearch")
    client = pytest.importorskip("elasticsearch").Elasticsearch(start(SearchEngine)[1])
    client.indices.create(index="harbour")
    strategy = module.DenseVectorStrategy()
    return module.ElasticsearchStore(
        "harbour", embedding=embeddings, client=client, strategy=strategy
    )


def opensearch(embeddings, start):
    pytest.importorskip("opensearchpy")
    module = pytest.importorskip("langchain_community.vectorstores.opensearch_vector_search")
    url = start(SearchEngine)[1]
    store = module.OpenSearchVectorSearch(url, "harbour", embeddings, engine="faiss")
    store.client.indices.create(index="harbour")
    return store


def qdrant(embeddings, start):
    client = pytest.importorskip("qdrant_client")
    module = pytest.importorskip("langchain_qdrant")
    local = client.QdrantClient(":memory:", force_disable_check_same_thread=True)
    _, url = start(Qdrant, models=client.models, local=local)
    made = client.QdrantClient(url, prefer_grpc=False)
    given = client.models.VectorParams(size=DIMENSIONS, distance=client.models.Distance.COSINE)
    made.create_collection("harbour", vectors_config=given)
    return module.QdrantVectorStore(made, "harbour", embeddings)


TERM = {"term": {"metadata.side.keyword": "against"}}
STORES = {
    "Elasticsearch, stand-in server": (elasticsearch, [TERM]),
    "OpenSearch (faiss), stand-in server": (opensearch, TERM),
    "Qdrant, stand-in server": (qdrant, qdrant_filter),
}


@pytest.fixture(scope="module", params=list(STORES))
def case(request, table, servers):
    """The case for one store, filled once for all checks that do not change it."""
    make, wanted = STORES[request.param]

    return filled_case(request.param, lambda embeddings: make(embeddings, servers), wanted, table)


@pytest.mark.parametrize("check", STORE_CHECKS)
def test_store(case, check, table):
    name, made = case
    table.record(name, check, lambda: STORE_CHECKS[check](made))


def test_the_document_names_the_stores_that_are_tested(table):
    table.expect_rows(list(STORES))
