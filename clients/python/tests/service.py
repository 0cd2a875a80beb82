"""Starts the built service of this repository."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
STAFF = "pets:read,pets:write,pets:manage,orders:read,orders:write,orders:manage,events:read,webhooks:manage,admin"


class Service:
    """The built service on a free port, with an empty database."""

    def __init__(self):
        self._folder = tempfile.mkdtemp(prefix="animal-store-python-")
        settings = {"PORT": "0", "DATA_DIR": self._folder, "LOG_LEVEL": "error", "WEBHOOKS_ALLOW_PRIVATE": "true"}
        self._environment = {name: os.environ[name] for name in ("PATH", "HOME")} | settings
        self._process = subprocess.Popen(
            ["node", "dist/main.js"], cwd=ROOT, env=self._environment, stdout=subprocess.PIPE, text=True
        )
        for line in self._process.stdout or []:
            listens = re.search(r"listens on (\S+) ", line)
            if listens:
                self.url = listens[1]
                return
        self.stop()
        raise RuntimeError("The service did not start. Its errors are above.")

    def create_key(self, account, *plan):
        command = ["node", "dist/cli/main.js", "keys", "create", "--json"]
        options = ["--account", account, "--scopes", STAFF, *(plan or ("--plan", "business"))]
        output = subprocess.check_output(command + options, cwd=ROOT, env=self._environment)
        return json.loads(output)["key"]

    def stop(self):
        self._process.terminate()
        self._process.communicate()
        shutil.rmtree(self._folder)
