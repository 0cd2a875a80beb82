"""A client of the Animal Store API. It needs only the standard library."""

from __future__ import annotations

import base64
import hmac
import http.client
import json
import math
import os
import random
import re
import selectors
import socket
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.message import Message
from email.utils import parsedate
from http.client import HTTPException, IncompleteRead, InvalidURL
from itertools import chain
from typing import Any, Dict, Literal, NamedTuple, TypedDict, Union
from urllib.error import URLError
from urllib.parse import parse_qs, quote, unquote, urlencode, urljoin, urlsplit
from urllib.request import Request, getproxies, proxy_bypass

FIRST_BACKOFF_SECONDS = 0.5
MAX_BACKOFF_SECONDS = 10
MAX_RETRY_AFTER_SECONDS = 2**31
MAX_IDLE_CONNECTIONS = 10
# Proxies and NAT drop an idle connection after a minute or later, some without a notice.
MAX_IDLE_SECONDS = 30
# The request did not arrive, or the service or a proxy is unavailable for a moment.
RETRIED_STATUSES = {408, 429, 500, 502, 503, 504}
# A misspelled parameter is an error (RFC 7240).
DEFAULT_HEADERS = {"Accept": "application/json", "Prefer": "handling=strict", "User-Agent": "animal-store-client (Python)"}

# The body is not JSON, or not one of the service. A deep list exceeds the stack.
UNREADABLE = (ValueError, TypeError, KeyError, RecursionError)

# A JSON object. Python 3.9 needs Dict.
Json = Dict[str, Any]


class AnimalStoreError(Exception):
    """An error response. A later release may add codes: handle an unknown code by its status.

    code          such as "pet_not_found"; "unexpected_response" if the response is not one of the service
    is_temporary  True if the client retries it
    retry_after   the shortest wait before a retry, in seconds, or None
    request_id    names the request in the log of the service, or None
    """

    def __init__(self, status: int, headers: Message, body: bytes):
        self.status = status
        self.retry_after = _retry_after(headers)
        self.request_id = headers["X-Request-Id"]
        try:
            error = json.loads(body)
            self.code = error["code"]
            self.message = error["message"]
            if not (isinstance(self.code, str) and isinstance(self.message, str)):
                raise TypeError
        except UNREADABLE:
            self.code = "unexpected_response"
            self.message = _unexpected_message(status, headers, body)
        self.is_temporary = status in RETRIED_STATUSES or self.code == "idempotency_key_in_use"
        super().__init__(f"{self.status} {self.code}: {self.message}")

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy, such as that in another process, gets the members: it has no response to read.
        return type(self).__new__, (type(self), *self.args), self.__dict__


class Response(NamedTuple):
    status: int
    headers: Message
    data: Any


class Pet(TypedDict):
    id: int
    name: str
    categoryId: int
    status: Literal["available", "pending", "sold"]


class _OrderFacts(TypedDict):
    id: int
    petId: int
    status: Literal["placed", "approved", "delivered", "cancelled"]
    placedAt: str
    updatedAt: str
    expiresAt: str | None


class Order(_OrderFacts, total=False):
    account: str


class PetEvent(TypedDict):
    id: int
    type: Literal["pet.created", "pet.updated", "pet.deleted"]
    createdAt: str
    data: Pet


class OrderEvent(TypedDict):
    id: int
    type: Literal["order.placed", "order.approved", "order.delivered", "order.cancelled"]
    createdAt: str
    data: Order


class _TestData(TypedDict):
    id: int
    status: str


class TestEvent(TypedDict):
    id: int
    type: Literal["webhook.test"]
    createdAt: str
    data: _TestData


# `type` tells what `data` is. A store with extensions also sends their types.
Event = Union[PetEvent, OrderEvent]
WebhookEvent = Union[PetEvent, OrderEvent, TestEvent]


class _Connections:
    """Sends requests, and keeps the connections for later ones. A copy, such as that in another process, has none."""

    def __init__(self) -> None:
        # It has no lock, which another thread may hold during a fork: the methods of a deque are atomic.
        self._idle: deque[tuple[tuple[Any, ...], float, http.client.HTTPConnection]] = deque()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Connections, ()

    def send(self, request: Request, timeout: float) -> tuple[int, Message, bytes]:
        """Sends a request on an idle connection or a new one, through the proxy that urllib finds."""
        scheme, host, target, tunnel = request.type, request.host, request.selector, None
        headers = {name.title(): value for name, value in request.header_items()}
        own_headers = {}
        proxy = getproxies().get(scheme)
        if proxy and not proxy_bypass(host):
            parts = urlsplit(proxy if "//" in proxy else f"//{proxy}", scheme)
            if parts.username and parts.password:
                credentials = f"{unquote(parts.username)}:{unquote(parts.password)}".encode()
                own_headers = {"Proxy-Authorization": f"Basic {base64.b64encode(credentials).decode()}"}
            if scheme == "https":
                tunnel = host
            else:
                scheme, target = parts.scheme, request.full_url
                headers.update(own_headers)
            host = unquote(parts.netloc.rpartition("@")[2])
        if scheme not in ("http", "https"):
            raise InvalidURL(f"The addresses of the service and of its proxy must begin with http or https, not {scheme}.")
        # After a fork, two processes would read from one connection.
        route = (os.getpid(), scheme, host, tunnel)
        message = (request.get_method(), target, request.data, headers)
        connection = self._take(route)
        if connection is not None and request.get_method() in ("GET", "HEAD"):
            try:
                return self._exchange(route, connection, timeout, message)
            except socket.timeout:
                raise
            except OSError:
                # The service has closed the idle connection at the same time.
                connection = None
        if connection is None:
            of_scheme = http.client.HTTPSConnection if scheme == "https" else http.client.HTTPConnection
            connection = of_scheme(host, timeout=timeout)
            if tunnel is not None:
                connection.set_tunnel(tunnel, headers=own_headers)
            try:
                connection.connect()
            except OSError as error:
                raise URLError(error) from error
        return self._exchange(route, connection, timeout, message)

    def _take(self, route: tuple[Any, ...]) -> http.client.HTTPConnection | None:
        """Finds an idle connection. If one is readable, the service has closed it, or has sent too much."""
        with suppress(IndexError):
            while True:
                opened_for, idle_since, connection = self._idle.popleft()
                if opened_for == route and time.monotonic() - idle_since < MAX_IDLE_SECONDS:
                    with selectors.DefaultSelector() as selector:
                        selector.register(connection.sock, selectors.EVENT_READ)
                        if not selector.select(0):
                            return connection
                connection.close()
        return None

    def _exchange(
        self, route: tuple[Any, ...], connection: http.client.HTTPConnection, timeout: float, message: tuple[Any, ...]
    ) -> tuple[int, Message, bytes]:
        try:
            connection.sock.settimeout(timeout)
            connection.request(*message)
            response = connection.getresponse()
            body = response.read()
            # http.client takes a connection that is lost in the header for the end of an empty body.
            if response.status < 300 and not body and response.length is None and not response.chunked:
                raise IncompleteRead(body)
        except BaseException:
            # Also KeyboardInterrupt: the next request would read this response.
            connection.close()
            raise
        # http.client returns a 102 or 103 in place of the response.
        if response.will_close or response.status < 200 or len(self._idle) >= MAX_IDLE_CONNECTIONS:
            connection.close()
        else:
            self._idle.append((route, time.monotonic(), connection))
        return response.status, response.headers, body

    def close(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.popleft()[2].close()

    __del__ = close


def _ignore_wait(error: Exception, seconds: float) -> None:
    pass


@dataclass
class AnimalStore:
    """A client of one deployment with one key. Animals and orders are dictionaries, with the names of the API.

    base_url      the address of the API with its version, such as https://api.example.com/v1
    timeout       the longest wait for a connection, or for the next part of a response, in seconds
    retry_budget  the time after which no retry of a call begins, in seconds; 0: no retries
    max_retries   the most retries after failures without Retry-After, such as lost connections
    on_wait       is called before each wait, with the error and the seconds; a lambda cannot be pickled
    remaining     the requests that were left after the last response; None before the first one
    """

    base_url: str
    key: str = field(repr=False)
    timeout: float = 30
    retry_budget: float = 120
    max_retries: int = 5
    on_wait: Callable[[Exception, float], None] = _ignore_wait
    remaining: int | None = field(default=None, init=False)
    _connections: _Connections = field(default_factory=_Connections, init=False, repr=False, compare=False)

    def close(self) -> None:
        """Closes the idle connections. A later request opens a new one."""
        self._connections.close()

    def __enter__(self) -> AnimalStore:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def list_pets(self, *, limit: int = 100, **filters: Any) -> Iterator[Pet]:
        """Filters: status and id (each also as a list), categoryId, q (words of the name), sort. `limit` is the size of a page."""
        return self._list("/pets", limit=limit, **filters)

    def get_pet(self, pet_id: int) -> Pet:
        """Deprecated, will be removed on 5 December 2030. Use list_pets(id=[pet_id])."""
        return self._call("GET", f"/pets/{pet_id:d}")

    def create_pet(self, *, idempotency_key: str | None = None, **pet: Any) -> Pet:
        return self._call("POST", "/pets", pet, idempotency_key=idempotency_key)

    def create_pets(self, items: list[Json], *, idempotency_key: str | None = None) -> list[Pet]:
        """Adds at most 100 animals, all or none."""
        return self._call("POST", "/pets/batch", {"items": items}, idempotency_key=idempotency_key)

    def update_pet(self, pet_id: int, *, if_match: str | None = None, **changes: Any) -> Pet:
        return self._call("PATCH", f"/pets/{pet_id:d}", changes, if_match=if_match)

    def delete_pet(self, pet_id: int, *, if_match: str | None = None) -> None:
        self._call("DELETE", f"/pets/{pet_id:d}", if_match=if_match)

    def get_inventory(self, *, categoryId: list[int] | None = None) -> Any:
        """Counts the animals by status; with categoryId: a list, with the counts of each category."""
        return self._call("GET", "/store/inventory", query={"categoryId": categoryId})

    def list_categories(self, *, limit: int = 100) -> Iterator[Json]:
        return self._list("/categories", limit=limit)

    def list_orders(self, *, limit: int = 100, **filters: Any) -> Iterator[Order]:
        """Filters: status (also as a list), petId, sort, account. `limit` is the size of a page."""
        return self._list("/store/orders", limit=limit, **filters)

    def get_order(self, order_id: int) -> Order:
        return self._call("GET", f"/store/orders/{order_id:d}")

    def place_order(self, *, idempotency_key: str | None = None, **order: Any) -> Order:
        return self._call("POST", "/store/orders", order, idempotency_key=idempotency_key)

    def update_order(self, order_id: int, *, if_match: str | None = None, **changes: Any) -> Order:
        return self._call("PATCH", f"/store/orders/{order_id:d}", changes, if_match=if_match)

    def list_events(self, *, limit: int = 100, from_: str | None = None, **filters: Any) -> Iterator[Event]:
        """The events until now; events() follows them. Filter: type (also as a list)."""
        return self._list("/events", limit=limit, **{"from": from_}, **filters)

    def list_webhooks(self, *, limit: int = 100, **filters: Any) -> Iterator[Json]:
        """Filters: account, sort."""
        return self._list("/webhooks", limit=limit, **filters)

    def create_webhook(self, *, idempotency_key: str | None = None, **webhook: Any) -> Json:
        return self._call("POST", "/webhooks", webhook, idempotency_key=idempotency_key)

    def get_webhook(self, webhook_id: int) -> Json:
        return self._call("GET", f"/webhooks/{webhook_id:d}")

    def update_webhook(self, webhook_id: int, *, if_match: str | None = None, **changes: Any) -> Json:
        return self._call("PATCH", f"/webhooks/{webhook_id:d}", changes, if_match=if_match)

    def delete_webhook(self, webhook_id: int, *, if_match: str | None = None) -> None:
        self._call("DELETE", f"/webhooks/{webhook_id:d}", if_match=if_match)

    def test_webhook(self, webhook_id: int) -> Json:
        return self._call("POST", f"/webhooks/{webhook_id:d}/test")

    def get_deliveries(self, webhook_id: int) -> list[Json]:
        return self._call("GET", f"/webhooks/{webhook_id:d}/deliveries")

    def resend_event(self, webhook_id: int, event_id: int) -> Json:
        return self._call("POST", f"/webhooks/{webhook_id:d}/deliveries/{event_id:d}/resend")

    def rotate_webhook(self, webhook_id: int, *, idempotency_key: str | None = None, **rotation: Any) -> Json:
        return self._call("POST", f"/webhooks/{webhook_id:d}/rotate", rotation, idempotency_key=idempotency_key)

    def get_usage(self, *, from_: str | None = None, to: str | None = None, account: str | None = None) -> list[Json]:
        """Counts the requests of each key and day. The days are such as 2026-11-21."""
        return self._call("GET", "/usage", query={"from": from_, "to": to, "account": account})

    def list_accounts(self, *, limit: int = 100, **filters: Any) -> Iterator[Json]:
        return self._list("/accounts", limit=limit, **filters)

    def create_account(self, *, idempotency_key: str | None = None, **account: Any) -> Json:
        return self._call("POST", "/accounts", account, idempotency_key=idempotency_key)

    def get_account(self, account: str) -> Json:
        return self._call("GET", f"/accounts/{_quote(account)}")

    def update_account(self, account: str, *, if_match: str | None = None, **changes: Any) -> Json:
        return self._call("PATCH", f"/accounts/{_quote(account)}", changes, if_match=if_match)

    def list_audit(self, *, limit: int = 100, **filters: Any) -> Iterator[Json]:
        """Filters: account, sort."""
        return self._list("/audit", limit=limit, **filters)

    def list_keys(self, account: str, *, limit: int = 100, **filters: Any) -> Iterator[Json]:
        """Filters: sort."""
        return self._list(f"/accounts/{_quote(account)}/keys", limit=limit, **filters)

    def create_key(self, account: str, *, idempotency_key: str | None = None, **key: Any) -> Json:
        return self._call("POST", f"/accounts/{_quote(account)}/keys", key, idempotency_key=idempotency_key)

    def get_key_by_id(self, key_id: str) -> Json:
        return self._call("GET", f"/keys/{_quote(key_id)}")

    def update_key(self, key_id: str, *, if_match: str | None = None, **changes: Any) -> Json:
        return self._call("PATCH", f"/keys/{_quote(key_id)}", changes, if_match=if_match)

    def revoke_key(self, key_id: str, *, if_match: str | None = None) -> Json:
        return self._call("DELETE", f"/keys/{_quote(key_id)}", if_match=if_match)

    def rotate_key(self, key_id: str, *, idempotency_key: str | None = None, **rotation: Any) -> Json:
        return self._call("POST", f"/keys/{_quote(key_id)}/rotate", rotation, idempotency_key=idempotency_key)

    def unban_key(self, key_id: str, *, idempotency_key: str | None = None) -> Json:
        return self._call("POST", f"/keys/{_quote(key_id)}/unban", idempotency_key=idempotency_key)

    def get_key(self) -> Json:
        """Returns what the key may do, and how much of its limits is left. The request counts in no limit."""
        return self._call("GET", "/key")

    def pages(self, path: str, **query: Any) -> Iterator[list[Json]]:
        """Iterates over the pages of any list. Each is requested when the iteration needs it."""
        return (response.data for response in self._responses(path, query))

    def events(
        self, *, cursor: str | None = None, pause: float = 5, limit: int = 100, from_: str | None = None, **filters: Any
    ) -> EventFeed:
        """Follows the events without an end. Filter: type (also as a list); from_="now" begins with later events."""
        return EventFeed(self, cursor, pause, {"limit": limit, "from": from_, **filters})

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] = {},
        body: Any = None,
        headers: Mapping[str, str | None] = {},
    ) -> Response:
        """Sends any request. A POST has an Idempotency-Key, the same in all attempts."""
        sent = dict(DEFAULT_HEADERS)
        if method == "POST":
            sent["Idempotency-Key"] = uuid.uuid4().hex
        if body is not None:
            sent["Content-Type"] = "application/json"
        sent.update((name, value) for name, value in headers.items() if value is not None)
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        return self._send(Request(self._url(path, query), content, sent, method=method))

    def _responses(self, path: str, query: Mapping[str, Any]) -> Iterator[Response]:
        if _is_empty(query):
            return
        url: str | None = self._url(path, query)
        while url is not None:
            response = self._send(Request(url, headers=DEFAULT_HEADERS))
            yield response
            # The events have a next page for ever.
            url = _next_page(url, response.headers) if response.data else None

    def _list(self, path: str, **query: Any) -> Iterator[Any]:
        return chain.from_iterable(self.pages(path, **query))

    def _call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] = {},
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> Any:
        headers = {"Idempotency-Key": idempotency_key, "If-Match": if_match}
        return self.request(method, path, query=query, body=body, headers=headers).data

    def _url(self, path: str, query: Mapping[str, Any]) -> str:
        given = {name: value for name, value in query.items() if value is not None}
        url = f"{self.base_url.rstrip('/')}/{path.lstrip('/')}"
        return f"{url}?{urlencode(given, doseq=True)}" if given else url

    def _send(self, request: Request, *, is_patient: bool = False) -> Response:
        """Repeats a request until it succeeds, or until the next wait would exceed the budget. A patient one has none."""
        request.add_header("Authorization", f"Bearer {self.key}")
        is_patient = is_patient and self.retry_budget > 0
        deadline = math.inf if is_patient else time.monotonic() + self.retry_budget
        backoff = FIRST_BACKOFF_SECONDS
        failures = 0
        while True:
            try:
                return self._attempt(request)
            except (AnimalStoreError, OSError, HTTPException) as error:
                retry_after = getattr(error, "retry_after", None)
                failures += retry_after is None
                # Full jitter: clients that failed together do not return together.
                seconds = (retry_after or 0) + random.random() * backoff
                is_late = failures > self.max_retries and not is_patient or time.monotonic() + seconds > deadline
                if is_late or isinstance(error, InvalidURL) or not getattr(error, "is_temporary", True):
                    raise
                self.on_wait(error, seconds)
            time.sleep(seconds)
            backoff = min(backoff * 2, MAX_BACKOFF_SECONDS)

    def _attempt(self, request: Request) -> Response:
        status, headers, body = self._connections.send(request, self.timeout)
        remaining = _integer(headers, "X-RateLimit-Remaining")
        self.remaining = self.remaining if remaining is None else remaining
        try:
            if 200 <= status < 300 or status == 304:
                return Response(status, headers, json.loads(body) if body else None)
        except UNREADABLE:
            pass
        raise AnimalStoreError(status, headers, body)


class EventFeed:
    """The events of the service without an end; it waits while the service is unavailable. Break the loop.

    cursor  save it, and pass it to events(): a feed from here loses no event, and repeats those of an unfinished page
    """

    def __init__(self, store: AnimalStore, cursor: str | None, pause: float, query: Json):
        self.cursor = cursor
        self._store, self._pause, self._query = store, pause, query

    def start(self) -> str | None:
        """Finds the position of from_="now", unless the cursor is known, and returns it. Read everything after it."""
        if self.cursor is None and not _is_empty(self._query):
            events, following = self._read()
            # The events of a page are read again by the iteration.
            self.cursor = None if events else following
        return self.cursor

    def __iter__(self) -> Iterator[Event]:
        while not _is_empty(self._query):
            events, following = self._read()
            yield from events
            self.cursor = following
            if not events:
                time.sleep(self._pause)

    def _read(self) -> tuple[list[Event], str]:
        start = {"from": None, "cursor": self.cursor} if self.cursor else {}
        url = self._store._url("/events", {**self._query, **start})
        response = self._store._send(Request(url, headers=DEFAULT_HEADERS), is_patient=True)
        following = urlsplit(_next_page(url, response.headers) or "").query
        return response.data, parse_qs(following)["cursor"][0]


def verify_webhook(
    headers: Mapping[str, str], body: bytes, secret: str | Sequence[str], *, tolerance_seconds: float = 300
) -> WebhookEvent:
    """Verifies a delivery of a webhook (Standard Webhooks), and returns its event. `type` tells what its `data` is.

    headers  in any case
    body     as it was received, byte for byte
    secret   "whsec_…", or several
    Raises ValueError if no secret has signed the delivery, it is too old, or a secret is invalid.
    """
    given = {name.lower(): value for name, value in headers.items()}
    timestamp = given.get("webhook-timestamp", "")
    if not re.fullmatch("[0-9]{1,15}", timestamp) or abs(time.time() - int(timestamp)) > tolerance_seconds:
        raise ValueError("The webhook-timestamp is missing, too old or too new.")
    message = f"{given.get('webhook-id', '')}.{timestamp}.".encode() + body
    signatures = given.get("webhook-signature", "").split(" ")
    for each in [secret] if isinstance(secret, str) else secret:
        signed = b"v1," + base64.b64encode(hmac.digest(_secret_bytes(each), message, "sha256"))
        if any(hmac.compare_digest(signed, signature.encode()) for signature in signatures):
            return json.loads(body)
    raise ValueError("No webhook-signature is valid: the secret is another one, or the body was changed.")


def _secret_bytes(secret: str) -> bytes:
    """Rejects a secret without bytes: any sender could sign with it."""
    # A secret from a file ends with a line end.
    text = secret.strip()
    try:
        decoded = base64.b64decode(text[len("whsec_") :] if text.startswith("whsec_") else text, validate=True)
    except ValueError:
        decoded = b""
    if not decoded:
        raise ValueError("The secret must be whsec_ and base64.")
    return decoded


def _quote(text: str) -> str:
    return quote(text, safe="")


def _integer(headers: Message, name: str) -> int | None:
    """Reads a header with an integer. If a proxy adds it again, the first one counts."""
    given = re.fullmatch(r"\s*([0-9]+)(\s*,\s*[0-9]+)*\s*", ",".join(headers.get_all(name, [])))
    # int rejects more than 4,300 digits.
    return int(min(float(given[1]), 2**53)) if given else None


def _retry_after(headers: Message) -> int | None:
    """Reads Retry-After: seconds, or a date if a proxy sent it (RFC 9110, 10.2.3)."""
    seconds = _integer(headers, "Retry-After")
    if seconds is not None:
        return min(seconds, MAX_RETRY_AFTER_SECONDS)
    end = _time_of((headers["Retry-After"] or "").strip())
    if end is None:
        return None
    # Both dates are by the clock of the sender.
    now = _time_of(headers["Date"] or "")
    return max(math.ceil(end - (time.time() if now is None else now)), 0)


def _time_of(date: str) -> float | None:
    """Parses a date of HTTP, also an obsolete form (RFC 9110, 5.6.7)."""
    try:
        parsed = parsedate(date)
        return parsed and datetime(*parsed[:6], tzinfo=timezone.utc).timestamp()
    except (LookupError, TypeError, ValueError):
        return None


def _unexpected_message(status: int, headers: Message, body: bytes) -> str:
    content_type = headers["Content-Type"] or "no Content-Type"
    excerpt = f'"{_excerpt(body.decode(errors="replace"))}"' if body else "no body"
    advice = "Check base_url, and the proxies in between."
    if 300 <= status < 400:
        target = _excerpt(headers["Location"] or "an unknown address")
        advice = f"It is a redirect to {target}: set base_url to the address of the service."
    return f"The response is not one of the service: status {status}, {content_type}, {excerpt}. {advice}"


def _excerpt(text: str) -> str:
    """Returns the first characters, without control characters."""
    printable = (character if character.isprintable() else " " for character in text[:1000])
    return " ".join("".join(printable).split())[:100]


def _is_empty(query: Mapping[str, Any]) -> bool:
    """True if a filter has no values: it would not be sent, and the list would be everything."""
    return any(value in ([], ()) for value in query.values())


def _next_page(url: str, headers: Message) -> str | None:
    """Finds rel="next" (RFC 8288)."""
    links = ", ".join(headers.get_all("Link", []))
    found = re.search(r'<([^>]*)>[^<]*;\s*rel="?next\b', links, re.IGNORECASE)
    if found is None:
        return None
    following = urljoin(url, found[1])
    if urlsplit(following)[:2] != urlsplit(url)[:2]:
        raise ValueError(f"The next page is at {following}. Its address must begin like base_url, {url}.")
    return following
