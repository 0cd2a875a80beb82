"""The client keeps its connections, and can be used in other threads and processes."""

import copy
import json
import multiprocessing
import os
import pickle
import select
import threading
import unittest
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from email.message import Message
from http.client import HTTPResponse, InvalidURL
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from unittest import mock
from urllib.error import URLError

from animal_store import MAX_IDLE_CONNECTIONS, MAX_IDLE_SECONDS, AnimalStore, AnimalStoreError

NO_PROXY = {f"{name}_proxy": "" for name in ("http", "https", "no")}


class Failure(AnimalStoreError):
    """An error of a program, with a member of its own."""


def failure():
    headers = Message()
    headers["Retry-After"] = "7"
    headers["X-Request-Id"] = "r1"
    error = Failure(409, headers, b'{"code":"pet_not_available","message":"It is reserved."}')
    error.attempt = 3
    return error


def fail(_):
    raise failure()


def get(store, path="/pets"):
    return store.request("GET", path).data


class KeepingServer(unittest.TestCase):
    """A server that keeps connections, and has the faults of `faults`, one for each request."""

    def setUp(self):
        self.requests, self.faults, self.waits = [], [], []
        case, opened = self, count()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                self.connection_number = next(opened)

            def respond(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                case.requests.append((self.connection_number, self.command, self.path, dict(self.headers)))
                fault = case.faults.pop(0) if case.faults else 200
                if fault == "interim":
                    self.send_response_only(103)
                    self.end_headers()
                # Without a notice, unlike "close".
                self.close_connection = fault in ("lost", "idle", "short")
                if fault == "lost":
                    return
                self.send_response_only(fault if isinstance(fault, int) else 200)
                has_body = fault not in (204, 304)
                body = json.dumps([self.connection_number, self.path]).encode()
                if fault == "close":
                    self.send_header("Connection", "close")
                if has_body:
                    self.send_header("Content-Length", str(len(body) + (fault == "short")))
                self.end_headers()
                if has_body and self.command != "HEAD":
                    self.wfile.write(body)

            do_GET = do_HEAD = do_POST = do_CONNECT = respond

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        server.handle_error = lambda *_: None
        threading.Thread(target=server.serve_forever, args=[0.01]).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.host = f"127.0.0.1:{server.server_port}"
        self.store = AnimalStore(f"http://{self.host}", "ask_test_1", on_wait=lambda *wait: self.waits.append(wait))
        self.addCleanup(self.store.close)
        for patch in (mock.patch("time.sleep"), mock.patch.dict(os.environ, NO_PROXY)):
            patch.start()
            self.addCleanup(patch.stop)

    def sent(self):
        return [(number, method) for number, method, *_ in self.requests]


class Connections(KeepingServer):
    def test_are_kept_after_any_whole_response(self):
        self.faults = [200, 200, 304, 404]
        self.store.request("HEAD", "/pets")
        self.store.create_pet(name="Rex")
        self.store.request("GET", "/pets")
        self.assertRaises(AnimalStoreError, get, self.store)
        self.assertEqual(get(self.store), [0, "/pets"])

    def test_are_replaced_without_a_wait_if_the_service_has_closed_them(self):
        for fault in ("close", "idle"):
            self.faults = [fault]
            number, _ = get(self.store)
            for *_, connection in self.store._connections._idle:
                self.assertTrue(select.select([connection.sock], [], [], 30)[0])
            self.assertEqual(self.store.create_pet(name="Rex"), [number + 1, "/pets"])
            self.store.close()
        with mock.patch("time.monotonic", lambda: 0):
            number, _ = get(self.store)
        with mock.patch("time.monotonic", lambda: MAX_IDLE_SECONDS):
            self.assertEqual((get(self.store)[0], self.waits), (number + 1, []))

    def test_that_are_lost_during_a_request_are_retried_immediately_only_if_it_changes_nothing(self):
        get(self.store)
        self.faults = ["lost", 200, "lost"]
        self.assertEqual((get(self.store), self.waits), ([1, "/pets"], []))
        self.store.create_pet(name="Rex")
        self.assertEqual(self.sent()[3:], [(1, "POST"), (2, "POST")])
        keys = [headers["Idempotency-Key"] for *_, headers in self.requests[3:]]
        self.assertEqual((len(self.waits), keys[0]), (1, keys[1]))

    def test_are_not_used_again_after_a_response_that_was_not_read_to_its_end(self):
        for fault in ("interim", "short"):
            self.faults = [fault]
            with self.subTest(fault), mock.patch.object(self.store, "retry_budget", 0):
                self.assertRaises(Exception, get, self.store)
        with mock.patch.object(HTTPResponse, "read", side_effect=KeyboardInterrupt):
            self.assertRaises(KeyboardInterrupt, get, self.store)
        self.assertEqual(get(self.store), [3, "/pets"])

    def test_are_not_shared_by_the_requests_of_threads(self):
        paths = [f"/pets/{number}" for number in range(200)]
        with ThreadPoolExecutor(MAX_IDLE_CONNECTIONS) as threads:
            found = list(threads.map(lambda path: get(self.store, path)[1], paths))
        self.assertEqual(found, paths)
        self.assertLessEqual(len({number for number, *_ in self.requests}), MAX_IDLE_CONNECTIONS)

    def test_go_through_the_proxy_of_the_environment(self):
        proxy = f"http://me:p%40ss@{self.host}"
        with mock.patch.dict(os.environ, {"http_proxy": proxy, "https_proxy": proxy, "no_proxy": "direct.example"}):
            store = AnimalStore("http://api.example", "ask_test_1", retry_budget=0)
            self.assertEqual([get(store), get(store)], [[0, "http://api.example/pets"]] * 2)
            self.assertRaises(OSError, get, AnimalStore("http://direct.example", "ask_test_1", retry_budget=0))
            self.faults = [403]
            with self.assertRaisesRegex(URLError, "Tunnel connection failed: 403"):
                get(AnimalStore("https://api.example", "ask_test_1", retry_budget=0))
        _, _, path, headers = self.requests[-1]
        self.assertEqual((path, len(self.requests)), ("api.example:443", 3))
        for *_, headers in self.requests:
            self.assertEqual(headers["Proxy-Authorization"], "Basic bWU6cEBzcw==")
        self.assertNotIn("Authorization", headers)

    def test_are_not_tried_for_an_address_that_cannot_be_one(self):
        for address in ("ftp://api.example", "http://api.example:port", f"http://{self.host}/a b"):
            self.assertRaises(InvalidURL, get, AnimalStore(address, "ask_test_1"))


class Processes(KeepingServer):
    def test_get_errors_and_a_client_with_all_members(self):
        error = failure()
        copies = [copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))]
        store = AnimalStore(f"http://{self.host}", "ask_test_1", timeout=7)
        for method in ("fork", "spawn"):
            context = multiprocessing.get_context(method)
            get(store)
            with ProcessPoolExecutor(1, context) as executor, context.Pool(1) as pool:
                copies.append(executor.submit(fail, 0).exception(30))
                pool.map_async(fail, [0], error_callback=copies.append).wait(30)
                for found in (executor.submit(get, store).result(30), pool.apply_async(get, [store]).get(30)):
                    self.assertEqual(found[1], "/pets")
        for each in copies:
            self.assertEqual((type(each), str(each), each.__dict__), (Failure, str(error), error.__dict__))
        self.assertEqual(pickle.loads(pickle.dumps(store)), store)
        self.assertEqual(len(self.sent()), len({number for number, _ in self.sent()}) + 1)

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_do_not_share_a_connection_after_a_fork(self):
        get(self.store)
        child = os.fork()
        if child == 0:
            os._exit(get(self.store)[0])
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 1)
        self.assertEqual(get(self.store)[0], 0)
