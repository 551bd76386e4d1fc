"""A target that takes any number of messages: nginx, whose access log proves what came and when.

    sink = Sink(folder, certificates)
    sink.url("/m/17")                 plain, HTTP/1.1; with tls=True HTTP/2 and TLS
    sink.arrivals()                   {path: [Entry, ...]} in the order of their start

    /m/      201                                    /flaky/  201, but every tenth 503
    /gone/   410                                    /never/  503, always
    /later/SECONDS/  429 with that Retry-After, always
    /whole/  201, and not before the body is there

nginx writes a line in one write when it has answered and the body has come. Of the others it may answer
first: if it is stopped between the two, there is no line. So where it is stopped, /whole/ is asked.
"""

import collections

from servers import Nginx, free_port

LOCATIONS = """
        location /m/ { return 201; }
        location /flaky/ { if ($is_flaky) { return 503; } return 201; }
        location /gone/ { return 410; }
        location /never/ { return 503; }
        location /whole/ { proxy_pass http://127.0.0.1:%(inner)d; }
        location ~ ^/later/(?<seconds>[0-9]+)/ { add_header Retry-After $seconds always; return 429; }"""


class Sink(Nginx):
    """tls_more: more directives for the port with TLS, such as http2_max_concurrent_streams."""

    def __init__(self, folder, certificates, tls_more=""):
        self.port, self.tls_port, inner = free_port(), free_port(), free_port()
        locations = LOCATIONS % {"inner": inner}
        super().__init__(folder, f"""
    split_clients $request_id $is_flaky {{ 10% 1; * 0; }}
    server {{
        listen 127.0.0.1:{inner};
        access_log off;
        return 201;
    }}
    server {{
        listen 127.0.0.1:{self.port};
        {locations}
    }}
    server {{
        listen 127.0.0.1:{self.tls_port} ssl http2;
        ssl_certificate {certificates.chain("good")};
        ssl_certificate_key {certificates.key("good")};
        {tls_more}
        {locations}
    }}""", [self.port, self.tls_port])

    def url(self, path, tls=False):
        return f"https://127.0.0.1:{self.tls_port}{path}" if tls else \
            f"http://127.0.0.1:{self.port}{path}"

    def arrivals(self):
        by_path = collections.defaultdict(list)
        for entry in self.all_entries():
            by_path[entry.path].append(entry)
        for entries in by_path.values():
            entries.sort()
        return by_path
