"""A client that never gives up: it posts numbered messages until each has its 202.

    loader = Loader(serve, message_of, keys="k")     message_of(number) -> the message
    loader.start() ... serve.kill9() ... serve.start() ... loader.stop()
    loader.accepted                                   {number: id}

Some threads post one by one, one posts batches. What got no answer is posted again with the same
idempotency key, for as long as it takes, so in the end every number that was begun has an id; and an old
number is posted again now and then, which must get its first id (Q6). What is wrong is in `mistakes`.
"""

import http.client
import itertools
import json
import random
import threading
import time

PAUSE_S = 0.02  # before a server that is not there is asked again
BATCH = 50
AGAIN = 0.03  # of the single posts
AGAIN_AGE = 200  # numbers ago

# What a client has to expect and to try again: (status, word of the problem).
PASSING = {(429, "queue-full"), (503, "draining"), (503, "disk-full"), (503, "unavailable"),
           (409, "key-under-way")}


class Loader:
    """pause_s: of each thread after each post, so that the machine can follow."""

    def __init__(self, serve, message_of, keys, threads=3, pause_s=0.004, batch_pause_s=0.1, seed=1):
        self.accepted = {}
        self.mistakes = []
        self.repeated = 0  # posts that were made again for want of an answer
        self._serve, self._message_of, self._keys = serve, message_of, keys
        self._numbers = itertools.count(1)
        self._is_stopped = threading.Event()
        self._random = random.Random(seed)
        self._threads = [threading.Thread(target=self._run, args=(self._post_one, pause_s), daemon=True)
                         for _ in range(threads)]
        self._threads.append(threading.Thread(target=self._run, args=(self._post_batch, batch_pause_s),
                                              daemon=True))

    def start(self):
        for thread in self._threads:
            thread.start()
        return self

    def stop(self, limit_s=60):
        """What has been begun is brought to its end: the server must be there."""
        self._is_stopped.set()
        end = time.monotonic() + limit_s
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0))
            assert not thread.is_alive(), f"a client did not get its answer; {self.mistakes}"

    def _run(self, post, pause_s):
        while not self._is_stopped.is_set():
            try:
                post()
            except Exception as error:  # a thread has nobody to raise it to
                self.mistakes.append(repr(error))
                return
            self._is_stopped.wait(pause_s)

    def _message(self, number):
        return {**self._message_of(number), "idempotency_key": f"{self._keys}-{number}"}

    def _ask(self, path, body, content_type):
        """The answer, when there is one that is no reason to ask again."""
        while True:
            try:
                answer = self._serve.post(path, body, Content_Type=content_type)
            except (OSError, http.client.HTTPException):
                answer = None
            if answer and (answer.status, word_of(answer)) not in PASSING:
                return answer
            self.repeated += 1
            time.sleep(PAUSE_S)

    def _accept(self, number, name):
        first = self.accepted.setdefault(number, name)
        if first != name:
            self.mistakes.append(f"number {number} is {first} and then {name}")

    def _post_one(self):
        number = next(self._numbers)
        if number > AGAIN_AGE and self._random.random() < AGAIN:
            self._post(self._random.randrange(1, number - AGAIN_AGE + 1), is_again=True)
        self._post(number)

    def _post(self, number, is_again=False):
        if is_again and number not in self.accepted:
            return  # another thread is still at it
        answer = self._ask("/v1/messages", json.dumps(self._message(number)), "application/json")
        if answer.status != 202:
            self.mistakes.append(f"number {number}: {answer.status} {word_of(answer)}")
            return
        self._accept(number, answer.json["id"])
        if is_again and answer.headers["Idempotency-Replayed"] != "true":
            self.mistakes.append(f"number {number} was accepted again")

    def _post_batch(self):
        waiting = [next(self._numbers) for _ in range(BATCH)]
        while waiting:
            text = "".join(json.dumps(self._message(number)) + "\n" for number in waiting)
            answer = self._ask("/v1/messages/batch", text, "application/x-ndjson")
            if answer.status != 200:
                self.mistakes.append(f"a batch: {answer.status} {word_of(answer)}")
                return
            try:
                lines = answer.lines
            except ValueError:
                lines = []  # cut short
            left = []
            for number, line in itertools.zip_longest(waiting, lines):
                if line and line["status"] == 202:
                    self._accept(number, line["id"])
                elif line and line["status"] not in (409, 429, 503):
                    self.mistakes.append(f"number {number} of a batch: {line}")
                else:
                    left.append(number)
            waiting = left


def word_of(answer):
    """Of a problem: its word."""
    if answer.headers.get_content_type() != "application/problem+json":
        return ""
    return answer.json["type"].rpartition(":")[2]
