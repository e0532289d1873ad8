"""A supervisor whose parts are small: `stand_in.py PORT` runs it, other words run one part.

The supervisor is imported only where it runs, so that the parts start at once.
"""

from __future__ import annotations

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.supervisor import Plan

BROKEN = os.environ.get("STAND_IN_BROKEN", "")


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"status": "ok", "checks": {}}).encode())

    def log_message(self, *_: object) -> None:
        pass


def web(port: str) -> None:
    print("listening", flush=True)
    HTTPServer(("127.0.0.1", int(port)), Healthy).serve_forever()


def worker() -> None:
    """A parent and a child that does not notice its parent's death."""
    if os.fork() == 0:
        while True:
            time.sleep(1)
    print("working", flush=True)
    while True:
        time.sleep(1)


def beat() -> None:
    print("ticking", flush=True)
    while True:
        time.sleep(1)


def plan(port: str) -> Plan:
    from runtime.home import locate
    from runtime.parts import Part
    from runtime.supervisor import Plan

    def part(*words: str) -> Part:
        command = ("broken",) if words[0] == BROKEN else words
        return Part(name=words[0], command=(sys.executable, __file__, *command), patience=3.0)

    return Plan(
        home=locate(),
        host="127.0.0.1",
        port=int(port),
        base_url=f"http://127.0.0.1:{port}",
        stages=(((sys.executable, __file__, "step"),),),
        parts=(part("web", port), part("worker"), part("beat")),
        link=(sys.executable, __file__, "link"),
        embedded=not os.environ.get("DATABASE_URL"),
    )


def main() -> int:
    match sys.argv[1:]:
        case ["web", port]:
            web(port)
        case ["worker"]:
            worker()
        case ["beat"]:
            beat()
        case ["broken"]:
            print("the reason of the failure", flush=True)
            return 3
        case ["step"]:
            print("one step", flush=True)
            return 4 if BROKEN == "step" else 0
        case ["link"]:
            print(json.dumps({"url": "http://127.0.0.1/enter/once"}))
        case [port]:
            from runtime.supervisor import supervise

            return supervise(plan(port))
    return 0


if __name__ == "__main__":
    sys.exit(main())
