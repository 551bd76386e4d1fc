"""Real servers for tests, each in a folder of its own, on free ports of loopback, stopped by pid.

    with World() as world:
        path = world.scripted.script("/x", answer(503), answer(200))
        ... world.nginx.url(path), world.haproxy.url(path), world.nginx.url(path, tls=True) ...
        world.nginx.entries(path, 2)      from its access log: when each request began and ended

nginx and HAProxy stand in front of the scripted server, so that a sequence of answers can be scripted
while their own access logs prove what arrived and when. A scripted 418 makes nginx close the
connection without an answer. Under /own/ HAProxy answers alone, by a count per path.
"""

import collections
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
from typing import NamedTuple

from h2_peer import H2Peer
from scripted import Scripted

START_S = 10
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin") or "/usr/sbin/nginx"
HAPROXY = shutil.which("haproxy", path="/usr/sbin:/usr/bin") or "/usr/sbin/haproxy"

_given_ports = set()


def free_port():
    while True:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        if port not in _given_ports:
            _given_ports.add(port)
            return port


# ---- certificates ----


class Certificates:
    """A CA and what it signed: good, expired, wrong_host; and self_signed, which it did not."""

    KINDS = ("good", "expired", "wrong_host", "self_signed")

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.authority = self.folder / "ca.pem"
        self._openssl("req", "-x509", "-days", "2", "-subj", "/CN=Test authority",
                      *self._new_key("ca"), "-out", "ca.pem")
        self._sign("good", "DNS:localhost,IP:127.0.0.1", days=2)
        self._sign("expired", "DNS:localhost,IP:127.0.0.1", days=-1)
        self._sign("wrong_host", "DNS:elsewhere.example", days=2)
        self._openssl("req", "-x509", "-days", "2", "-subj", "/CN=localhost", "-addext",
                      "subjectAltName=DNS:localhost,IP:127.0.0.1", *self._new_key("self_signed"),
                      "-out", "self_signed.pem")
        for kind in self.KINDS:
            both = self.chain(kind).read_text() + self.key(kind).read_text()
            self.both(kind).write_text(both)

    def sign(self, name, names):
        """One more good one, for chain(name) and key(name)."""
        self._sign(name, names, days=2)

    def chain(self, kind):
        return self.folder / f"{kind}.pem"

    def key(self, kind):
        return self.folder / f"{kind}.key"

    def both(self, kind):
        return self.folder / f"{kind}.both.pem"

    def context(self, kind="good", protocols=("http/1.1",)):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.chain(kind), self.key(kind))
        context.set_alpn_protocols(list(protocols))
        return context

    def _new_key(self, name):
        return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                f"{name}.key")

    def _sign(self, kind, names, days):
        (self.folder / f"{kind}.ext").write_text(f"subjectAltName={names}\n")
        self._openssl("req", "-subj", f"/CN={kind}", *self._new_key(kind), "-out", f"{kind}.csr")
        self._openssl("x509", "-req", "-in", f"{kind}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                      "-CAcreateserial", "-days", str(days), "-extfile", f"{kind}.ext",
                      "-out", f"{kind}.pem")

    def _openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True,
                       timeout=30)


# ---- servers that are programs ----


class Entry(NamedTuple):
    """A line of an access log. Times are seconds since 1970."""

    start: float
    end: float
    method: str
    path: str
    status: int
    attempt: str
    key: str
    trace: str
    protocol: str


class Program:
    """A server process with an access log of JSON lines."""

    def __init__(self, folder, command, ports):
        self.folder = pathlib.Path(folder)
        self.log = self.folder / "access.log"
        self.output = self.folder / "output.log"
        self._ports = ports
        self._command = command
        self.start()

    def start(self):
        with self.output.open("ab") as output, self.log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=log,
                                             stderr=output)
        self._wait_until_ready()

    def signal(self, number):
        self._process.send_signal(number)

    @property
    def pid(self):
        return self._process.pid

    def _wait_until_ready(self):
        end = time.monotonic() + START_S
        for port in self._ports:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    if self._process.poll() is not None or time.monotonic() > end:
                        self.stop()
                        raise RuntimeError("no start: " + self.output.read_text()) from None
                    time.sleep(0.02)

    def stop(self):
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(5)

    def counts(self, prefix, count=0):
        """How often each path that begins so is in the log; waits a little until there are count."""
        end = time.monotonic() + 3
        while True:
            found = collections.Counter(re.findall(f'"path":"({re.escape(prefix)}[^"]*)"',
                                                   self.log.read_text(errors="replace")))
            if sum(found.values()) >= count or time.monotonic() > end:
                return found
            time.sleep(0.05)

    def all_entries(self):
        entries = []
        for line in self.log.read_text(errors="replace").splitlines():
            if line.startswith("{"):
                fields = json.loads(line)
                for name in ("attempt", "key", "trace"):
                    fields[name] = "" if fields[name] == "-" else fields[name]
                end, took = fields.pop("end_ms") / 1000, fields.pop("took_ms") / 1000
                entries.append(Entry(start=end - max(took, 0), end=end, **fields))
        return entries

    def entries(self, path, count=0):
        """Those of this path in order of their start; waits a little until there are count."""
        end = time.monotonic() + 3
        while True:
            found = sorted(e for e in self.all_entries() if e.path == path)
            if len(found) >= count or time.monotonic() > end:
                return found
            time.sleep(0.05)


class Nginx(Program):
    """servers: the text of `server { }` blocks."""

    def __init__(self, folder, servers, ports, connections=4096):
        folder = pathlib.Path(folder)
        temporary = "\n".join(f"    {kind}_temp_path {folder}/{kind};"
                              for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (folder / "nginx.conf").write_text(f"""
daemon off;
worker_processes 1;
{"user root;" if os.geteuid() == 0 else ""}
pid {folder}/nginx.pid;
error_log {folder}/error.log info;
worker_rlimit_nofile {2 * connections + 64};
events {{ worker_connections {connections}; }}
http {{
{temporary}
    map $msec $end_ms {{ "~^(?<s>[0-9]+)\\.(?<m>[0-9]+)$" "$s$m"; }}
    map $request_time $took_ms {{ "~^0\\.0*(?<a>[0-9]+)$" "$a"; "~^(?<b>[1-9][0-9]*)\\.(?<c>[0-9]+)$" "$b$c"; }}
    log_format lull escape=json '{{"end_ms":$end_ms,"took_ms":$took_ms,"method":"$request_method",'
        '"path":"$request_uri","status":$status,"attempt":"$http_lull_attempt",'
        '"key":"$http_idempotency_key","trace":"$http_traceparent",'
        '"protocol":"$server_protocol"}}';
    access_log {folder}/access.log lull;
{servers}
}}
""")
        super().__init__(folder, [NGINX, "-p", str(folder), "-e", str(folder / "error.log"), "-c",
                                  str(folder / "nginx.conf")], ports)

    def errors(self, part):
        return [line for line in (self.folder / "error.log").read_text().splitlines()
                if part in line]


class NginxFront(Nginx):
    """nginx before the scripted server, plain and with TLS; and a port for each bad certificate."""

    def __init__(self, folder, certificates, upstream_port):
        self.port, self.tls_port = free_port(), free_port()
        self.bad_ports = {kind: free_port() for kind in Certificates.KINDS if kind != "good"}
        bad = "".join(f"""
    server {{
        listen 127.0.0.1:{port} ssl http2;
        ssl_certificate {certificates.chain(kind)};
        ssl_certificate_key {certificates.key(kind)};
        return 200 "ok";
    }}""" for kind, port in self.bad_ports.items())
        super().__init__(folder, f"""
    server {{
        listen 127.0.0.1:{self.port};
        listen 127.0.0.1:{self.tls_port} ssl http2;
        ssl_certificate {certificates.chain("good")};
        ssl_certificate_key {certificates.key("good")};
        reset_timedout_connection on;
        location / {{
            proxy_pass http://127.0.0.1:{upstream_port};
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_next_upstream off;
            proxy_buffering off;
            proxy_intercept_errors on;
            error_page 418 = @drop;
        }}
        location @drop {{ return 444; }}
    }}{bad}""", [self.port, self.tls_port, *self.bad_ports.values()])

    def url(self, path, tls=False):
        return f"https://127.0.0.1:{self.tls_port}{path}" if tls else \
            f"http://127.0.0.1:{self.port}{path}"


class HaproxyFront(Program):
    """HAProxy before the scripted server; /own/... is answered by HAProxy itself:

    burst 503 twice · limit 429 with Retry-After: 1 once · drop the connection in silence once ·
    reject (close) once · tarpit (500 after 1 s) once · deny 403 always; and 200 after that
    """

    def __init__(self, folder, certificates, upstream_port):
        folder = pathlib.Path(folder)
        self.port, self.tls_port = free_port(), free_port()
        log_format = ('{"end_ms":%[date(0,ms)],"took_ms":%Ta,"method":"%HM",'
                      '"path":"%[var(txn.path)]","status":%ST,"attempt":"%[capture.req.hdr(0)]",'
                      '"key":"%[capture.req.hdr(1)]","trace":"%[capture.req.hdr(2)]",'
                      '"protocol":"%HV"}').replace('"', '\\"').replace(" ", "\\ ")
        (folder / "haproxy.cfg").write_text(f"""
global
    log stdout format raw local0
    maxconn 2000
defaults
    mode http
    log global
    option abortonclose
    retries 0
    timeout connect 5s
    timeout client 30s
    timeout server 30s
    timeout tarpit 1s
    log-format {log_format}
frontend front
    bind 127.0.0.1:{self.port}
    bind 127.0.0.1:{self.tls_port} ssl crt {certificates.both("good")} alpn h2,http/1.1
    stick-table type string len 120 size 10k expire 10m store http_req_cnt
    http-request set-var(txn.path) path
    http-request capture req.hdr(lull-attempt) len 8
    http-request capture req.hdr(idempotency-key) len 64
    http-request capture req.hdr(traceparent) len 64
    http-request track-sc0 path
    acl first sc_http_req_cnt(0) le 1
    acl first_two sc_http_req_cnt(0) le 2
    http-request return status 503 content-type text/plain string busy if first_two {{ path_beg /own/burst/ }}
    http-request return status 429 content-type text/plain string later hdr Retry-After 1 if first {{ path_beg /own/limit/ }}
    http-request silent-drop if first {{ path_beg /own/drop/ }}
    http-request reject if first {{ path_beg /own/reject/ }}
    http-request tarpit if first {{ path_beg /own/tarpit/ }}
    http-request deny deny_status 403 if {{ path_beg /own/deny/ }}
    http-request return status 200 content-type text/plain string ok if {{ path_beg /own/ }}
    default_backend scripted
backend scripted
    server scripted 127.0.0.1:{upstream_port}
""")
        super().__init__(folder, [HAPROXY, "-db", "-f", str(folder / "haproxy.cfg")],
                         [self.port, self.tls_port])

    url = NginxFront.url


# ---- all of it ----


class World:
    """Every server that the fault tests need, ready and empty."""

    def __init__(self):
        self._folder = None
        self._started = []

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="lull-test-")
        self.root = pathlib.Path(self._folder.name)
        try:
            self.certificates = Certificates(self._room("certificates"))
            self.scripted = self._start(Scripted())
            self.scripted_tls = self._start(Scripted(self.certificates.context()))
            self.bad_tls = {kind: self._start(Scripted(self.certificates.context(kind)))
                            for kind in Certificates.KINDS if kind != "good"}
            self.h2 = self._start(H2Peer(self.certificates.context("good", ("h2",))))
            self.nginx = self._start(NginxFront(self._room("nginx"), self.certificates,
                                                self.scripted.port))
            self.haproxy = self._start(HaproxyFront(self._room("haproxy"), self.certificates,
                                                    self.scripted.port))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for server in reversed(self._started):
            server.stop()
        self._folder.cleanup()

    def _room(self, name):
        room = self.root / name
        room.mkdir()
        return room

    def _start(self, server):
        self._started.append(server)
        return server
