"""Local servers that stand in for Elasticsearch, OpenSearch and Qdrant.

They answer the endpoints that the clients call, in the documented shapes, by brute force (Qdrant's:
by the engine of its own local mode), and refuse what a real one would refuse: an index that is not
there, a search of a field that is not mapped as a vector of that length, fewer candidates than
hits, an endpoint that does not exist.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

import numpy as np
import pytest


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
        if self.command == "PUT" and path == f"/{name}":
            properties = json.loads(raw or "{}").get("mappings", {}).get("properties", {})
            kept[name] = {}
            self.server.mappings[name] = properties
            return self.answer({"acknowledged": True, "shards_acknowledged": True, "index": name})
        if name not in kept:
            return self.refuse("index_not_found_exception", f"no such index [{name}]", 404)
        if action == "_search":
            try:
                hits = self.hits(name, json.loads(raw))
            except (KeyError, ValueError) as problem:
                return self.refuse("parsing_exception", str(problem))
            total = {"value": len(hits), "relation": "eq"}
            best = hits[0]["_score"] if hits else None
            shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
            found = {"total": total, "max_score": best, "hits": hits}
            return self.answer({"took": 1, "timed_out": False, "_shards": shards, "hits": found})
        if action == "_mget":
            return self.answer({"docs": [self.doc(name, i) for i in json.loads(raw)["ids"]]})
        if self.command == "DELETE" and path == f"/{name}":
            del kept[name]
            return self.answer({"acknowledged": True})
        if action == "_count":
            return self.answer({"count": len(kept[name]), "_shards": {"failed": 0}})
        if path == f"/{name}" or action == "_mapping":
            return self.answer({name: {"mappings": {"properties": self.server.mappings[name]}}})
        return self.refuse("illegal_argument_exception", f"no handler for {self.command} {path}")

    def doc(self, name, which):
        row = self.server.indices[name].get(which)
        if row is None:
            return {"_index": name, "_id": which, "found": False}
        asked = parse_qs(urlparse(self.path).query).get("_source_includes")
        fields = asked[0].split(",") if asked else list(row)
        source = {field: row[field] for field in fields if field in row}
        return {"_index": name, "_id": which, "_version": 1, "found": True, "_source": source}

    def refuse(self, kind, reason, status=400):
        return self.answer({"error": {"type": kind, "reason": reason}, "status": status}, status)

    def bulk(self, raw):
        items, lines = [], iter(raw.rstrip("\n").split("\n"))
        for line in lines:
            ((action, where),) = json.loads(line).items()
            rows = self.server.indices[where["_index"]]
            if action == "delete":
                rows.pop(where["_id"], None)
            else:
                rows[where["_id"]] = json.loads(next(lines))
            items.append({action: {"_index": where["_index"], "_id": where["_id"], "status": 200}})
        return items

    def hits(self, index, body):
        rows = self.server.indices[index]
        if "knn" in body:
            knn, kind = body["knn"], ("dense_vector", "dims")
            field, vector, clauses = knn["field"], knn["query_vector"], knn.get("filter") or []
            if knn["k"] > knn["num_candidates"]:
                raise ValueError("[num_candidates] cannot be less than [k]")
        else:
            ((field, knn),) = body["query"]["knn"].items()
            vector, clauses = knn["vector"], [knn["filter"]] if "filter" in knn else []
            kind = ("knn_vector", "dimension")
        mapped = self.server.mappings[index].get(field, {})
        if (mapped.get("type"), mapped.get(kind[1])) != (kind[0], len(vector)):
            raise ValueError(f"[{field}] is mapped as {mapped}, asked with {len(vector)} numbers")
        passing = {
            name: row
            for name, row in rows.items()
            if all(fits(row, clause["term"]) for clause in clauses)
        }
        score = {n: 1.0 + float(np.dot(row[field], vector)) for n, row in passing.items()}
        best = sorted(passing, key=lambda name: -score[name])[: min(knn["k"], body["size"])]
        return [
            {"_index": index, "_id": n, "_score": score[n], "_source": passing[n]} for n in best
        ]

    def answer(self, body, status=200):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        # Elasticsearch's client refuses a server that does not say so.
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *args):
        pass

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_one


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
        making = not rest and self.command == "PUT"
        if not making and rest != ["exists"] and not local.collection_exists(name):
            said = f"Not found: Collection `{name}` doesn't exist!"
            return self.answer({"status": {"error": said}, "time": 0.0}, 404)
        if making:
            size, distance = body["vectors"]["size"], models.Distance(body["vectors"]["distance"])
            given = models.VectorParams(size=size, distance=distance)
            found = local.create_collection(name, vectors_config=given)
        elif not rest and self.command == "DELETE":
            found = local.delete_collection(name)
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
            if "filter" in body:
                chosen = models.FilterSelector(filter=models.Filter(**body["filter"]))
            else:
                chosen = body["points"]
            found = local.delete(name, chosen).model_dump(mode="json")
        elif rest == ["points", "count"]:
            found = local.count(name, exact=True).model_dump(mode="json")
        elif rest == ["index"] and self.command == "PUT":
            found = {"operation_id": 0, "status": "completed"}
        elif rest == ["points", "query"]:
            query = body["query"]["nearest"] if isinstance(body["query"], dict) else body["query"]
            only = models.Filter(**body["filter"]) if body.get("filter") else None
            wanted = {"limit": body["limit"], "query_filter": only, "with_payload": True}
            wanted["with_vectors"] = bool(body.get("with_vector"))
            found = local.query_points(name, query, **wanted).model_dump(mode="json")
        else:
            return self.answer({"status": {"error": f"no {self.command} {path}"}}, 404)
        return self.answer({"result": found, "status": "ok", "time": 0.0})

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_one


def start(handler, **parts):
    """A server in a thread of its own, and its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.indices, server.mappings, server.asked = {}, {}, []
    for name, part in parts.items():
        setattr(server, name, part)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_address[1]}"


def qdrant():
    """Qdrant's stand-in, and its address."""
    client = pytest.importorskip("qdrant_client")
    local = client.QdrantClient(":memory:", force_disable_check_same_thread=True)
    return start(Qdrant, models=client.models, local=local)
