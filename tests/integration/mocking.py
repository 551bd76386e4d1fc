"""A running `lull mock`: the practice service as a target, and what it logged.

    mock = Mock(folder, "--plan", "503;429:2")
    path = mock.subscribe()                 a file, as a browser gives it, for --to
    subscription = mock.subscription(plan)  the same as a dict, for the API
    mock.pushes(path) ... mock.stop()
"""

import json
import os
import pathlib
import subprocess
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("LULL_PROGRAM", str(ROOT / "build" / "lull"))
TIMEOUT_S = 60


def id_of(subscription):
    """The name of a subscription in the log: the end of its endpoint."""
    return subscription["endpoint"].rsplit("/", 1)[1]


class Mock:
    def __init__(self, folder, *arguments):
        self.folder = pathlib.Path(folder)
        self.log_path = self.folder / "log.ndjson"
        self.process = subprocess.Popen([PROGRAM, "mock", "--log", str(self.log_path), *arguments],
                                        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = self.process.stdout.readline()
        assert first, self.process.stderr.read()
        self.url = json.loads(first)["url"]

    def subscription(self, plan="", **members):
        """A new one, with its own plan if there is one, else it walks the service's."""
        given = {"plan": plan, **members} if plan else members
        request = urllib.request.Request(self.url + "/subscribe", method="POST",
                                         data=json.dumps(given).encode(),
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            return json.load(answer)

    def subscribe(self, plan="", **members):
        subscription = self.subscription(plan, **members)
        path = self.folder / f"{id_of(subscription)}.json"
        path.write_text(json.dumps(subscription))
        return path

    def log(self):
        return [json.loads(line) for line in self.log_path.read_text().splitlines()]

    def all_pushes(self):
        return [line for line in self.log() if line["event"] == "push"]

    def pushes(self, to):
        """Those to a subscription, which may be given as its file, too."""
        name = to.stem if isinstance(to, pathlib.Path) else id_of(to)
        return [line for line in self.all_pushes() if line["subscription"] == name]

    def stop(self):
        self.process.terminate()
        assert self.process.wait(TIMEOUT_S) == 0, self.process.stderr.read()
