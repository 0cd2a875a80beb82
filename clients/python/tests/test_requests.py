"""The client against a server with prepared responses. Time passes immediately."""

import json
import threading
import unittest
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from unittest import mock

from animal_store import AnimalStore, AnimalStoreError

PET = {"id": 1, "name": "Rex", "categoryId": 3, "status": "available"}


def ok(body=PET, **headers):
    return 200, headers, json.dumps(body)


def rejection(status, code, **headers):
    return status, headers, json.dumps({"code": code, "message": f"It is {code}.", "status": status})


def lost():
    return None, {}, ""


class PreparedServer(unittest.TestCase):
    def setUp(self):
        self.requests = []
        self.waits = []
        self.responses = []
        case = self

        class Handler(BaseHTTPRequestHandler):
            def respond(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                case.requests.append((self.command, self.path, dict(self.headers), body))
                status, headers, text = case.responses.pop(0)
                if status is None:
                    return
                self.send_response_only(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_POST = do_PATCH = respond

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=[0.01]).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}"
        self.store = AnimalStore(f"{self.url}/v1/", "ask_test_1")
        for name, replacement in {"time.sleep": self.waits.append, "random.random": lambda: 0.5}.items():
            patch = mock.patch(name, replacement)
            patch.start()
            self.addCleanup(patch.stop)

    def assert_error(self, call, *args, **expected):
        with self.assertRaises(AnimalStoreError) as caught:
            call(*args)
        error = caught.exception
        self.assertEqual({name: getattr(error, name) for name in expected}, expected)


class Retries(PreparedServer):
    def test_wait_at_least_retry_after_with_growing_jitter(self):
        self.responses = [rejection(429, "rate_limit_exceeded", Retry_After=after) for after in (42, 1)] + [ok()]
        self.assertEqual(self.store.get_pet(1), PET)
        self.assertEqual(self.waits, [42.25, 1.5])

    def test_wait_for_a_date_in_retry_after_by_the_clock_of_the_sender(self):
        forms = ["Sun, 06 Nov 2044 08:49:37 GMT", "Sunday, 06-Nov-44 08:49:37 GMT", "Sun Nov  6 08:49:37 2044"]
        date = "Sun, 06 Nov 2044 08:49:30 GMT"
        self.responses = [rejection(503, "some_code", Retry_After=form, Date=date) for form in forms] + [ok()]
        self.store.get_pet(1)
        self.assertEqual(self.waits, [7.25, 7.5, 8])

    def test_wait_for_a_date_in_retry_after_by_the_own_clock(self):
        self.responses = [rejection(503, "some_code", Retry_After=formatdate(1_000_007, usegmt=True)), ok()]
        with mock.patch("time.time", lambda: 1_000_000):
            self.store.get_pet(1)
        self.assertEqual(self.waits, [7.25])

    def test_read_any_retry_after(self):
        self.store.retry_budget = 0
        unknown = ["", "1.5", "-5", "1e3", "soon", "5 s", "\u00b2", "Sun, 99 Nov 2044 08:49:37 GMT", "2044-11-06"]
        unknown += [",", "5,", "5, soon"]
        known = [("Sun, 06 Nov 1994 08:49:37 GMT", 0), (" 2 ", 2), ("9" * 5000, 2**31)]
        # A proxy may add the header again.
        known += [("5, 5", 5), ("5 ,7,9", 5), ("Sun, 06 Nov 9999 08:49:37 GMT", mock.ANY)]
        for text, seconds in [*known, *((each, None) for each in unknown)]:
            with self.subTest(text[:40]):
                self.responses = [rejection(503, "some_code", Retry_After=text)]
                self.assert_error(self.store.get_pet, 1, code="some_code", retry_after=seconds)

    def test_end_immediately_if_the_wait_exceeds_the_budget(self):
        self.responses = [rejection(429, "api_key_banned", Retry_After=300)]
        self.assert_error(self.store.get_pet, 1, code="api_key_banned", status=429, retry_after=300)
        self.assertEqual(self.waits, [])

    def test_of_a_post_have_the_idempotency_key_and_the_body_of_the_first_attempt(self):
        in_use = rejection(409, "idempotency_key_in_use", Retry_After=1)
        self.responses = [lost(), in_use, ok(), ok()]
        self.store.create_pet(name="Rex", categoryId=3)
        self.store.create_pet(name="Rex", categoryId=3)
        first, second, third, other = self.requests
        self.assertEqual([second, third], [first, first])
        self.assertRegex(first[2]["Idempotency-Key"], "^[0-9a-f]{32}$")
        self.assertNotEqual(other[2]["Idempotency-Key"], first[2]["Idempotency-Key"])

    def test_end_after_five_lost_connections(self):
        self.responses = [lost()] * 6
        with self.assertRaises(OSError):
            self.store.get_pet(1)
        self.assertEqual(self.waits, [0.25, 0.5, 1, 2, 4])

    def test_follow_a_response_that_breaks(self):
        for place, broken in {"header": (201, {}, ""), "body": (200, {"Content_Length": 100}, "{")}.items():
            with self.subTest(place):
                self.responses = [broken, ok()]
                self.assertEqual(self.store.get_pet(1), PET)

    def test_do_not_follow_other_errors(self):
        for status in (400, 401, 403, 404, 409, 412, 422):
            with self.subTest(status):
                self.responses = [rejection(status, "some_code")]
                self.assert_error(self.store.get_pet, 1, code="some_code", message="It is some_code.")
        self.assertEqual(self.waits, [])


class Requests(PreparedServer):
    def test_have_the_key_and_ask_for_strict_handling(self):
        self.responses = [ok()]
        self.store.get_pet(1)
        _, path, headers, _ = self.requests[0]
        self.assertEqual((path, headers["Authorization"]), ("/v1/pets/1", "Bearer ask_test_1"))
        self.assertEqual(headers["Prefer"], "handling=strict")
        self.assertNotIn("ask_test_1", repr(self.store))

    def test_do_not_follow_redirects(self):
        for status in (301, 302, 303, 307, 308):
            with self.subTest(status):
                self.responses = [(status, {"Location": f"{self.url}/other"}, "")]
                self.assert_error(self.store.get_pet, 1, code="unexpected_response", status=status)
        self.assertEqual({path for _, path, _, _ in self.requests}, {"/v1/pets/1"})

    def test_raise_an_error_if_the_response_is_not_one_of_the_service(self):
        bodies = [(200, "<html>"), (404, "<html>"), (404, "null"), (404, "[]"), (404, '{"code":"a"}'), (103, "")]
        bodies += [(404, '{"code":5,"message":"m"}'), (404, '{"code":"a","message":["m"]}')]
        bodies += [(200, "[" * 100_000), (404, "[" * 100_000)]
        for status, text in bodies:
            with self.subTest(text[:40], status=status):
                self.responses = [(status, {}, text)]
                self.assert_error(self.store.get_pet, 1, code="unexpected_response", status=status)

    def test_name_what_was_received_instead(self):
        html = {"Content_Type": "text/html"}
        page = "<html>\n\x1b[2J" + "é" * 200
        start = "The response is not one of the service: status"
        excerpt = f'"<html> [2J{"é" * 90}"'
        check = "Check base_url, and the proxies in between."
        redirect = "It is a redirect to https://other.example/: set base_url to the address of the service."
        for status, headers, text, received in [
            (404, html, page, f"text/html, {excerpt}. {check}"),
            (200, html, page, f"text/html, {excerpt}. {check}"),
            (403, {}, "", f"no Content-Type, no body. {check}"),
            (302, {"Location": "https://other.example/"}, "", f"no Content-Type, no body. {redirect}"),
        ]:
            with self.subTest(status):
                self.responses = [(status, headers, text)]
                self.assert_error(self.store.get_pet, 1, message=f"{start} {status}, {received}")

    def test_ignore_a_header_of_a_proxy(self):
        self.responses = [ok(X_RateLimit_Remaining="7"), ok(X_RateLimit_Remaining="6, 59;w=60")]
        self.assertEqual([self.store.get_pet(1), self.store.get_pet(1), self.store.remaining], [PET, PET, 7])

    def test_read_a_header_that_a_proxy_adds_again(self):
        twice = ok(**{"X_RateLimit_Remaining": "5", "X-RateLimit-Remaining": "4"})
        self.responses = [ok(X_RateLimit_Remaining="6 ,6"), twice, ok(X_RateLimit_Remaining="9" * 5000)]
        left = [self.store.get_pet(1) and self.store.remaining for _ in self.responses.copy()]
        self.assertEqual(left, [6, 5, 2**53])


class Events(PreparedServer):
    def page(self, following, *ids):
        link = f'</v1/events?limit=100>; rel="first", </v1/events?limit=100&cursor={following}>; rel="next"'
        return ok([{"id": each} for each in ids], Link=link)

    def read(self, feed, count):
        return [(event["id"], feed.cursor) for event in islice(feed, count)]

    def paths(self):
        return [path.removeprefix("/v1/events?limit=100") for _, path, *_ in self.requests]

    def test_are_followed_from_page_to_page_with_a_wait_after_an_empty_one(self):
        self.responses = [self.page("a", 1, 2), self.page("b"), self.page("c"), self.page("d", 3)]
        self.assertEqual(self.read(self.store.events(type=["x", "y"]), 3), [(1, None), (2, None), (3, "c")])
        self.assertEqual(self.waits, [5, 5])
        self.assertEqual(self.paths(), [f"&type=x&type=y{cursor}" for cursor in ("", "&cursor=a", "&cursor=b", "&cursor=c")])

    def test_have_the_position_of_now_before_the_first_one_is_read(self):
        self.responses = [self.page("n"), self.page("b", 1)]
        feed = self.store.events(from_="now")
        self.assertEqual([feed.cursor, feed.start(), feed.start()], [None, "n", "n"])
        self.assertEqual(self.read(feed, 1), [(1, "n")])
        self.assertEqual(self.paths(), ["&from=now", "&cursor=n"])

    def test_continue_from_a_saved_cursor_instead_of_now(self):
        self.responses = [self.page("b", 1), self.page("b", 1), self.page("c", 2)]
        feed = self.store.events()
        self.assertIsNone(feed.start())
        self.assertEqual(self.read(feed, 1), [(1, None)])
        self.assertEqual(self.read(self.store.events(from_="now", cursor="b", pause=1), 1), [(2, "b")])
        self.assertEqual(self.paths(), ["", "", "&cursor=b"])

    def test_wait_for_the_service_without_an_end_unless_no_call_is_retried(self):
        self.responses = [lost(), rejection(503, "service_unavailable")] * 20 + [self.page("a", 1)]
        self.assertEqual(self.read(self.store.events(), 1), [(1, None)])
        self.store.retry_budget = 0
        self.responses = [rejection(503, "service_unavailable")]
        self.assert_error(next, iter(self.store.events()), status=503)

    def test_end_with_an_error_that_no_retry_can_fix(self):
        self.responses = [rejection(410, "cursor_expired")]
        self.assert_error(next, iter(self.store.events(cursor="old")), code="cursor_expired")

    def test_are_a_list_that_ends_at_its_empty_page(self):
        self.responses = [self.page("a", 1), self.page("b")]
        self.assertEqual(list(self.store.pages("/events")), [[{"id": 1}], []])

    def test_are_none_without_a_request_if_a_filter_has_no_values(self):
        feed = self.store.events(type=[])
        self.assertEqual((feed.start(), list(feed), self.requests), (None, [], []))


class Lists(PreparedServer):
    def test_follow_next_and_ask_for_large_pages(self):
        links = [f'<{self.url}/v1/pets>; rel="first", </v1/pets?cursor=a>; rel="next"', "</v1/pets?cursor=b>; rel=next"]
        self.responses = [ok([PET], Link=link) for link in links] + [ok([PET], Link='</v1/pets>; rel="first"')]
        self.assertEqual(list(self.store.list_pets(id=[7, 9007199254740993], status=None)), [PET] * 3)
        paths = ["?limit=100&id=7&id=9007199254740993", "?cursor=a", "?cursor=b"]
        self.assertEqual([path for _, path, _, _ in self.requests], [f"/v1/pets{path}" for path in paths])

    def test_request_a_page_only_when_it_is_needed(self):
        self.responses = [ok([PET, PET], Link='</v1/pets?cursor=a>; rel="next"')]
        next(self.store.list_pets())
        self.assertEqual(len(self.requests), 1)

    def test_never_send_the_key_to_another_address(self):
        self.responses = [ok([PET], Link='<https://evil.example.com/v1/pets>; rel="next"')]
        with self.assertRaisesRegex(ValueError, "evil.example.com"):
            list(self.store.list_pets())

    def test_are_empty_without_a_request_if_a_filter_has_no_values(self):
        self.assertEqual(list(self.store.list_pets(id=[])), [])
        self.assertEqual(self.requests, [])
