"""Each operation of the document has a method, and a webhook can be verified."""

import base64
import hmac
import json
import re
import time
import unittest
from unittest import mock

from animal_store import AnimalStore, AnimalStoreError, Order, Pet, verify_webhook

from .service import ROOT, Service

DOCUMENT = json.loads((ROOT / "openapi.json").read_text())
PATHS = DOCUMENT["paths"]


class Operations(unittest.TestCase):
    def test_have_a_method_each_that_gets_what_the_document_says(self):
        service = Service()
        self.addCleanup(service.stop)
        called = set()

        class Recorded(AnimalStore):
            def __getattribute__(self, name):
                called.add(name)
                return super().__getattribute__(name)

        store = Recorded(f"{service.url}/v1", service.create_key("operator"))
        rex = store.create_pet(name="Rex", categoryId=3)
        store.create_pets([{"name": "Bella", "categoryId": 3}])
        self.assertEqual(store.get_pet(rex["id"]), store.update_pet(rex["id"], status="available"))
        self.assertEqual([pet["id"] for pet in store.list_pets(q="rex")], [rex["id"]])
        self.assertEqual(store.get_inventory(), {"available": 2, "pending": 0, "sold": 0})
        self.assertEqual(store.get_inventory(categoryId=[3]), list(store.list_categories()))
        order = store.place_order(petId=rex["id"])
        store.update_order(order["id"], status="cancelled")
        self.assertEqual(store.get_order(order["id"])["status"], "cancelled")
        self.assertEqual(len(list(store.list_orders(petId=rex["id"]))), 1)
        list(store.list_events(type="pet.created"))
        webhook = store.create_webhook(url="http://127.0.0.1:1/")
        self.assertEqual(store.get_webhook(webhook["id"])["status"], "active")
        self.assertEqual(store.update_webhook(webhook["id"], status="disabled")["status"], "disabled")
        self.assertRegex(store.rotate_webhook(webhook["id"], graceSeconds=0)["secret"], "^whsec_")
        self.assertFalse(store.test_webhook(webhook["id"])["delivered"])
        self.assertEqual(store.get_deliveries(webhook["id"])[0]["error"], "The connection failed: ECONNREFUSED.")
        self.assertRaises(AnimalStoreError, store.resend_event, webhook["id"], 1)
        self.assertEqual(len(list(store.list_webhooks())), 1)
        store.delete_webhook(webhook["id"])
        account = store.create_account(name="a/b ?")["name"]
        store.update_account(account, plan="pro")
        self.assertEqual(store.get_account(account)["plan"], "pro")
        key = store.create_key(account, label="shop")["id"]
        store.update_key(key, label="web")
        store.rotate_key(key)
        store.unban_key(key)
        self.assertEqual(store.get_key_by_id(key)["label"], "web")
        self.assertEqual(len(list(store.list_keys(account))), 1)
        store.revoke_key(key)
        self.assertEqual(len(list(store.list_accounts())), 3)
        self.assertGreater(len(list(store.list_audit(account=account))), 4)
        self.assertEqual(store.get_usage(account=account), [])
        self.assertEqual(store.get_key()["account"], "operator")
        store.delete_pet(store.create_pet(name="Gone", categoryId=1)["id"])
        self.assertEqual(len(list(store.list_pets())), 2)
        names = [operation["operationId"] for path in PATHS.values() for operation in path.values()]
        self.assertEqual({re.sub("([A-Z])", r"_\1", name).lower() for name in names} - called, set())

    def test_return_animals_and_orders_with_the_members_that_the_document_says(self):
        for type_ in (Pet, Order):
            schema = DOCUMENT["components"]["schemas"][type_.__name__]
            self.assertEqual(set(type_.__annotations__), set(schema["properties"]))


class Webhooks(unittest.TestCase):
    SECRET = "whsec_" + base64.b64encode(b"x" * 24).decode()

    def setUp(self):
        # Time stands still: a delivery from the future would be accepted a second later.
        now = mock.patch("time.time", lambda at=time.time(): at)
        now.start()
        self.addCleanup(now.stop)

    def signed(self, body, age=0, secret=SECRET):
        sent_at = int(time.time()) - age
        digest = hmac.digest(base64.b64decode(secret[6:]), f"7.{sent_at}.".encode() + body, "sha256")
        signature = f"v1a,AA== v1,{base64.b64encode(digest).decode()}"
        return {"Webhook-Id": "7", "WEBHOOK-TIMESTAMP": str(sent_at), "webhook-signature": signature}

    def test_are_verified_by_one_of_the_secrets(self):
        body = b'{"id":9007199254740993,"type":"pet.created"}'
        other = "whsec_" + base64.b64encode(b"y" * 24).decode()
        for secret in (self.SECRET, [other, self.SECRET], self.SECRET + "\n"):
            self.assertEqual(verify_webhook(self.signed(body), body, secret)["id"], 9007199254740993)

    def test_are_rejected_if_changed_old_or_of_another_secret(self):
        body = b"{}"
        for headers, given, secret in (
            (self.signed(body), b"[]", self.SECRET),
            (self.signed(body, age=301), body, self.SECRET),
            (self.signed(body, age=-301), body, self.SECRET),
            (self.signed(body), body, "whsec_" + base64.b64encode(b"y" * 24).decode()),
            (self.signed(body), body, "whsec_"),
            (self.signed(body), body, "whsec_é"),
            ({}, body, self.SECRET),
            ({"webhook-timestamp": "9" * 30}, body, self.SECRET),
            ({**self.signed(body), "webhook-signature": "v1,é"}, body, self.SECRET),
        ):
            self.assertRaises(ValueError, verify_webhook, headers, given, secret)
