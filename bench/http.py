#!/usr/bin/python3
"""Runs bench-http against an nginx of its own on free loopback ports. Usage: http.py BENCH-HTTP"""

import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

CONFIG = """\
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
    access_log off; keepalive_requests 100000000; keepalive_timeout 600s;
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    ssl_certificate {folder}/certificate; ssl_certificate_key {folder}/key;
    server {{
        listen 127.0.0.1:{ports[0]}; listen 127.0.0.1:{ports[1]} ssl;
        listen 127.0.0.1:{ports[2]} ssl http2;
        location / {{ return 200 "a small response\\n"; }}
    }}
}}
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(port, server):
    for _ in range(500):
        if server.poll() is not None:
            sys.exit("bench/http.py: nginx did not start")
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    sys.exit("bench/http.py: nginx does not answer")


def main():
    ports = [free_port() for _ in range(3)]
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "nginx.conf"
        config.write_text(CONFIG.format(folder=folder, ports=ports))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{folder}/key", "-out",
                        f"{folder}/certificate", "-days", "1", "-subj", "/CN=127.0.0.1", "-addext",
                        "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        server = subprocess.Popen([nginx, "-e", f"{folder}/error.log", "-p", folder, "-c", str(config)])
        try:
            wait_for(ports[0], server)
            trusted = [f"{folder}/certificate"]
            codes = [subprocess.call([sys.argv[1], name, f"{scheme}://127.0.0.1:{port}/", *ca])
                     for name, scheme, port, ca in (
                         ("HTTPS, HTTP/2", "https", ports[2], trusted),
                         ("HTTPS, HTTP/1.1", "https", ports[1], trusted),
                         ("plain HTTP/1.1", "http", ports[0], []))]
            return max(codes)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    sys.exit(main())
