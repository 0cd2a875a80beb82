"""The package has types, and is built and imported as pip does it."""

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import animal_store

PACKAGE = Path(animal_store.__file__).parent
CLIENT = PACKAGE.parent
BUILDERS = ("pip", "setuptools", "wheel")


class Package(unittest.TestCase):
    def test_annotates_each_parameter_and_result(self):
        nodes = ast.walk(ast.parse((PACKAGE / "__init__.py").read_text()))
        functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
        self.assertGreater(len(functions), 50)
        for function in functions:
            given = function.args
            parameters = [each for each in given.args + given.kwonlyargs + [given.kwarg] if each and each.arg != "self"]
            self.assertTrue(all(each.annotation for each in parameters), function.name)
            self.assertTrue(function.returns or function.name == "__init__", function.name)

    @unittest.skipUnless(shutil.which("mypy"), "needs mypy")
    def test_passes_mypy_strict_with_its_operations_test(self):
        files = ["animal_store", "tests/test_operations.py"]
        options = ["--cache-dir", os.devnull, "--allow-untyped-defs", "--allow-untyped-calls", "--check-untyped-defs"]
        found = subprocess.run(["mypy", *options, *files], cwd=CLIENT, capture_output=True, text=True)
        self.assertEqual(found.returncode, 0, found.stdout)

    @unittest.skipUnless(all(map(importlib.util.find_spec, BUILDERS)), f"needs {', '.join(BUILDERS)}")
    def test_is_a_wheel_with_license_and_types_that_can_be_imported(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(CLIENT, f"{folder}/client")
            offline = ["--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", folder]
            subprocess.check_call([sys.executable, "-m", "pip", "wheel", "--quiet", *offline, f"{folder}/client"])
            (wheel,) = Path(folder).glob("animal_store_client-*.whl")
            names = {Path(name).name for name in zipfile.ZipFile(wheel).namelist()}
            self.assertLessEqual({"__init__.py", "py.typed", "LICENSE", "METADATA"}, names)
            program = "from animal_store import AnimalStore; print(AnimalStore.__module__)"
            env = {**os.environ, "PYTHONPATH": str(wheel)}
            output = subprocess.check_output([sys.executable, "-c", program], cwd=folder, env=env, text=True)
            self.assertEqual(output, "animal_store\n")
