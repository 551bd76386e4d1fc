"""An nginx for a bench, on loopback, for the time of a `with`."""

import contextlib
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

CONFIG = """\
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 128; }}
http {{
    access_log off; keepalive_requests 100000000; keepalive_timeout 600s; http2_max_concurrent_streams 128;
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    ssl_certificate {folder}/certificate; ssl_certificate_key {folder}/key;
    {http}
    server {{
{server}
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
            sys.exit("bench: nginx did not start")
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    sys.exit("bench: nginx does not answer")


@contextlib.contextmanager
def nginx(server_block, port_count, preexec=None, http=""):
    """server_block names its ports as {ports[0]} and so on, and its folder, where the certificate is, as
    {folder}. http goes before it. Gives the ports and the certificate's path."""
    ports = [free_port() for _ in range(port_count)]
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "nginx.conf"
        server_block = server_block.format(ports=ports, folder=folder)
        config.write_text(CONFIG.format(folder=folder, http=http, server=server_block))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{folder}/key", "-out",
                        f"{folder}/certificate", "-days", "1", "-subj", "/CN=127.0.0.1", "-addext",
                        "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        server = subprocess.Popen([program, "-e", f"{folder}/error.log", "-p", folder, "-c", str(config)],
                                  preexec_fn=preexec)
        try:
            wait_for(ports[0], server)
            yield ports, f"{folder}/certificate"
        finally:
            server.terminate()
            server.wait()
