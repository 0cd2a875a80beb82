"""Keeps a copy of all animals and orders in a file with the client for Python, and continues after it was stopped."""

import json
import os
from pathlib import Path

from animal_store import AnimalStore, AnimalStoreError

COPY = Path(os.environ.get("COPY", "copy.json"))
PAUSE_SECONDS = int(os.environ.get("PAUSE_MS", "5000")) / 1000
store = AnimalStore(os.environ.get("API", "http://127.0.0.1:3000/v1/"), os.environ["KEY"])


def by_id(rows):
    return {str(row["id"]): row for row in rows}


def begin(feed):
    """The position comes first: each change after it has an event. A key without orders:manage leaves out account."""
    cursor = feed.start()
    return {"cursor": cursor, "pets": by_id(store.list_pets()), "orders": by_id(store.list_orders(account="*"))}


def update(copy, event):
    """Reads again what an event names: its data may be older than what was read."""
    number = event["data"]["id"]
    if event["type"].startswith("order."):
        copy["orders"].update(by_id([store.get_order(number)]))
    elif event["type"].startswith("pet."):
        found = by_id(store.list_pets(id=number))
        copy["pets"].pop(str(number), None)
        copy["pets"].update(found)


def save(copy):
    new = COPY.with_name(f"{COPY.name}.new")
    new.write_text(json.dumps(copy))
    new.replace(COPY)


def follow(saved):
    feed = store.events(from_="now", cursor=saved and saved["cursor"], pause=PAUSE_SECONDS)
    copy = saved or begin(feed)
    save(copy)
    for event in feed:
        update(copy, event)
        save({**copy, "cursor": feed.cursor})


saved = json.loads(COPY.read_text()) if COPY.exists() else None
while True:
    try:
        follow(saved)
    except AnimalStoreError as error:
        if error.code != "cursor_expired":
            raise
    saved = None
