"""A client for HTTP that takes next to no time itself: what is measured are the servers.

`http.client` reads headers as a mail program does, and takes longer for each of them than a server
takes for a search.
"""

import socket
import time

from httptools import HttpResponseParser

PATIENCE_SECONDS = 60
PIECE = 1 << 18


class Link:
    """One kept connection."""

    def __init__(self, port: int, headers: dict[str, str]) -> None:
        self._socket = connected(port)
        told = {"Host": f"127.0.0.1:{port}", "Accept": "application/json", **headers}
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in told.items())

    def get(self, target: str) -> tuple[int, bytes]:
        """Status and body."""
        answer = _Answer()
        parser = HttpResponseParser(answer)
        self._socket.sendall(f"GET {target} HTTP/1.1\r\n{self._headers}\r\n".encode("ascii"))
        while not answer.is_whole:
            data = self._socket.recv(PIECE)
            if not data:
                raise SystemExit(f"the server hung up on {target}")
            parser.feed_data(data)
        return parser.get_status_code(), b"".join(answer.pieces)


class _Answer:
    """What the parser calls."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.is_whole = False

    def on_body(self, data: bytes) -> None:
        self.pieces.append(data)

    def on_message_complete(self) -> None:
        self.is_whole = True


def connected(port: int) -> socket.socket:
    for _ in range(300):
        try:
            link = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
        except OSError:
            time.sleep(0.1)
        else:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return link
    raise SystemExit(f"nothing answers on port {port}")
