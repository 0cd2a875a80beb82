"""The client against the built service."""

import contextlib
import io
import re
import unittest
from email.message import Message
from pathlib import Path
from unittest import mock

from animal_store import AnimalStore, AnimalStoreError

from .service import Service

README = Path(__file__).resolve().parents[1] / "README.md"
INT64 = [9223372036854775807, -9223372036854775808, 9007199254740993]


def setUpModule():
    global service
    service = Service()
    unittest.addModuleCleanup(service.stop)


def client(account, *plan, **options):
    return AnimalStore(f"{service.url}/v1", service.create_key(account, *plan), **options)


class Animals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.store = client("animals")

    def test_lists_each_animal_once_in_the_pages_of_the_service(self):
        ids = [self.store.create_pet(name="Rex", categoryId=101)["id"] for _ in range(5)]
        self.assertEqual([pet["id"] for pet in self.store.list_pets(categoryId=101, limit=2)], ids)
        self.assertEqual([len(page) for page in self.store.pages("/pets", categoryId=101, limit=2)], [2, 2, 1])
        self.assertEqual([pet["id"] for pet in self.store.list_pets(id=ids[:2], sort="-id")], ids[1::-1])
        self.assertEqual([pet["id"] for pet in self.store.list_pets(q="réx", categoryId=101, limit=2)], ids)

    def test_keeps_int64_exact_in_bodies_queries_and_paths(self):
        for category in INT64:
            pet = self.store.create_pet(name="Exact", categoryId=category)
            changed = self.store.update_pet(pet["id"], categoryId=category)
            self.assertEqual([changed], list(self.store.list_pets(categoryId=category)))
            self.assertEqual(changed["categoryId"], category)
        with self.assertRaises(AnimalStoreError) as caught:
            self.store.get_pet(INT64[0])
        self.assertEqual(caught.exception.code, "pet_not_found")

    def test_adds_one_animal_if_the_first_response_is_lost(self):
        attempt = AnimalStore._attempt

        def lose(store, request):
            attempts.append(attempt(store, request))
            if len(attempts) == 1:
                raise ConnectionResetError
            return attempts[-1]

        attempts = []
        with mock.patch.object(AnimalStore, "_attempt", lose), mock.patch("time.sleep"):
            pet = self.store.create_pet(name="Only one", categoryId=102)
        self.assertEqual([response.data for response in attempts], [pet, pet])
        self.assertEqual(attempts[1].headers["Idempotent-Replayed"], "true")
        self.assertEqual(list(self.store.list_pets(categoryId=102)), [pet])

    def test_changes_the_version_that_it_has_read_if_the_first_response_is_lost(self):
        created = self.store.request("POST", "/pets", body={"name": "Mimi", "categoryId": 1})
        tag = created.headers["ETag"]
        attempt = AnimalStore._attempt
        for lost in (ConnectionResetError(), AnimalStoreError(502, Message(), b"<html>")):
            faults = [lost, None]

            def lose(store, request):
                response, fault = attempt(store, request), faults.pop(0)
                if fault:
                    raise fault
                return response

            with self.subTest(lost), mock.patch.object(AnimalStore, "_attempt", lose), mock.patch("time.sleep"):
                changed = self.store.update_pet(created.data["id"], name="Mimi II", if_match=tag)
                self.assertEqual((changed["name"], faults), ("Mimi II", []))

    def test_changes_what_it_has_read_through_a_proxy_that_adds_gzip_to_tags(self):
        created = self.store.request("POST", "/pets", body={"name": "Mimi", "categoryId": 1})
        tag = created.headers["ETag"][:-1] + '-gzip"'
        self.assertEqual(self.store.update_pet(created.data["id"], name="Mimi II", if_match=tag)["name"], "Mimi II")
        with self.assertRaises(AnimalStoreError) as caught:
            self.store.delete_pet(created.data["id"], if_match=tag)
        self.assertEqual(caught.exception.code, "precondition_failed")

    def test_adds_one_animal_for_an_idempotency_key(self):
        pets = [self.store.create_pet(name="A", categoryId=1, idempotency_key="import-1") for _ in range(2)]
        self.assertEqual(*pets)

    def test_changes_only_the_version_that_it_has_read(self):
        created = self.store.request("POST", "/pets", body={"name": "Mimi", "categoryId": 1})
        tag = created.headers["ETag"]
        self.store.update_pet(created.data["id"], name="Mimi II", if_match=tag)
        with self.assertRaises(AnimalStoreError) as caught:
            self.store.delete_pet(created.data["id"], if_match=tag)
        self.assertEqual((caught.exception.status, caught.exception.code), (412, "precondition_failed"))
        self.assertIsNone(self.store.delete_pet(created.data["id"]))

    def test_raises_code_message_and_status(self):
        with self.assertRaises(AnimalStoreError) as caught:
            self.store.create_pet(name="", categoryId="3")
        error = caught.exception
        self.assertEqual((error.status, error.code), (400, "validation_failed"))
        self.assertRegex(error.message, "name must be .*categoryId must be ")
        self.assertIsNotNone(error.request_id)


class Orders(unittest.TestCase):
    def test_orders_an_animal_finds_the_order_and_cancels_it(self):
        store = client("orders")
        pet = store.create_pet(name="Rex", categoryId=1)
        order = store.place_order(petId=pet["id"])
        with self.assertRaises(AnimalStoreError) as caught:
            store.place_order(petId=pet["id"])
        self.assertEqual(caught.exception.code, "pet_not_available")
        self.assertEqual([each["id"] for each in store.list_orders(status="placed")], [order["id"]])
        store.update_order(order["id"], status="cancelled")
        self.assertEqual(store.get_order(order["id"])["status"], "cancelled")


class Limits(unittest.TestCase):
    def test_knows_the_requests_that_are_left_and_the_time_to_wait(self):
        # Few requests, so that they end within the minute on a slow machine.
        limits = ("--plan", "enterprise", "--per-minute", "3", "--per-day", "9")
        store = client("limits", *limits, retry_budget=0)
        limit = store.get_key()["limits"]["minute"]["limit"]
        for left in reversed(range(limit)):
            list(store.list_pets(limit=1, id=[1]))
            self.assertEqual(store.remaining, left)
        with self.assertRaises(AnimalStoreError) as caught:
            list(store.list_pets(limit=1, id=[1]))
        self.assertEqual(caught.exception.code, "rate_limit_exceeded")
        self.assertIn(caught.exception.retry_after, range(1, 62))


class Readme(unittest.TestCase):
    def test_has_examples_that_print_what_it_says(self):
        blocks = re.findall(r"^```(\w+)\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
        program = "\n".join(text for language, text in blocks if language == "python")
        expected = "".join(text for language, text in blocks if language == "text")
        own = Service()
        self.addCleanup(own.stop)
        program = program.replace("http://127.0.0.1:3000", own.url).replace("ask_test_…", own.create_key("reader"))
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(program, README.name, "exec"), {})
        self.assertEqual(output.getvalue(), expected)
