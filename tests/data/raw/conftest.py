"""A server on this machine that cuts connections, and no mirror."""

import http.server
import os
import socket
import struct
import threading

import pytest

from dml.data.raw import download as http_module


class Server(http.server.ThreadingHTTPServer):
    """Serves `files`, cuts the first `cuts` connections after `cut` bytes, and keeps the requested ranges."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.requests, self.cuts, self.cut = {}, [], 0, 1000
        self.ranges, self.status, self.lie_about_range = True, None, False
        self.reset, self.says_size = False, False  # cut by a TCP reset; state the file's length in a 416
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.requests.append((self.path, self.headers.get("Range")))
        if server.status is not None:
            return self.send_error(server.status)
        if self.path not in server.files:
            return self.send_error(404)
        content = server.files[self.path]
        start = 0
        if server.ranges and (asked := self.headers.get("Range")):
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(content):
                self.send_response(416)
                if server.says_size:
                    self.send_header("Content-Range", f"bytes */{len(content)}")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            start = 0 if server.lie_about_range else start
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        body = content[start:]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if server.cuts > 0:
            server.cuts -= 1
            self.wfile.write(body[: server.cut])
            self.close_connection = True
            if server.reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                os.close(self.connection.detach())
            return None
        self.wfile.write(body)
        return None

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def _no_mirror_no_pause(monkeypatch):
    monkeypatch.delenv("DML_MIRROR", raising=False)
    monkeypatch.setattr(http_module.time, "sleep", lambda seconds: None)
