"""A page on this machine that shows a run while it goes on.

The server listens on the loopback interface alone. Every address has a token, drawn anew for each
server; a request without it, or one that names another host (a page elsewhere that has bent its
name to this machine), is refused. Events are sent as text/event-stream; the page then fetches the
scene. At most `MOST_CLIENTS` listen at once.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

MOST_CLIENTS = 8
_HEARTBEAT = 5.0  # [s]
_PATIENCE = 30.0  # of a connection on which nothing happens [s]


class Live:
    """A page that is served, made by `view(..., live=True)`. Use it in a `with` block, or close it.

    address: what a browser opens. clients: how many listen. version: how many scenes there were.

    >>> import cycloid as cy
    >>> pendulum = cy.systems.pendulum()
    >>> with cy.view(cy.rollout(pendulum, [1.0, 0.0], 10), live=True) as page:
    ...     for angle in (0.9, 0.8):                    # a fit, a plan, a training
    ...         page.show(cy.rollout(pendulum, [angle, 0.0], 10))
    ...     page.version, page.address.startswith("http://127.0.0.1:")
    (3, True)
    """

    def __init__(
        self,
        page_of: Callable[[dict[str, Any]], str],
        scene_of: Callable[..., dict[str, Any]],
        trajectory: Any,
        compare: Any,
        gradient: Any,
        title: str | None,
    ) -> None:
        self._page_of, self._scene_of, self._title = page_of, scene_of, title
        self._changed = threading.Condition()
        self.version, self.clients, self._closed = 0, 0, False
        self._token = secrets.token_urlsafe(24)
        self._scene: dict[str, Any] = {}
        self.show(trajectory, compare=compare, gradient=gradient)
        page_of(self._scene)  # raises where there is no viewer
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.live = self
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="cycloid live", daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """With the token."""
        return f"http://{self.host}/?token={self._token}"

    def show(self, trajectory: Any, *, compare: Any = None, gradient: Any = None) -> None:
        """Brings another trajectory to every page; arguments as in `view`."""
        from cycloid._view import as_ghosts, as_trajectory

        run = as_trajectory(trajectory, "trajectory")
        scene = self._scene_of(run, as_ghosts(compare), gradient, self._title)
        scene["live"] = f"/events?token={self._token}"
        with self._changed:
            self._scene, self.version = scene, self.version + 1
            self._changed.notify_all()

    def close(self) -> None:
        """Tells the pages that the run has ended, and stops serving. May be called again."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Live:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else self.address
        return f"<Live: {state}>"

    # ---- for the handlers --------------------------------------------------------------------

    def _is_allowed(self, host: str | None, token: str) -> bool:
        port = self.host.rpartition(":")[2]
        named = host in (self.host, f"localhost:{port}")
        return named and hmac.compare_digest(token.encode(), self._token.encode())

    def _next(self, seen: int) -> int | None:
        """Waits for a scene after `seen`; None at the end, `seen` again when nothing came."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self.version != seen, _HEARTBEAT)
            return None if self._closed else self.version

    def _joined(self) -> bool:
        with self._changed:
            if self.clients >= MOST_CLIENTS:
                return False
            self.clients += 1
            return True

    def _left(self) -> None:
        with self._changed:
            self.clients -= 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    live: Live

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _PATIENCE

    def do_GET(self) -> None:
        live = self.server.live
        address = urlsplit(self.path)
        token = parse_qs(address.query).get("token", [""])[0]
        if not live._is_allowed(self.headers.get("Host"), token):
            return self._answer(403, "text/plain", "no token, or a wrong one, or another host")
        if address.path == "/":
            return self._answer(200, "text/html", live._page_of(live._scene))
        if address.path == "/scene":
            return self._answer(200, "application/json", json.dumps(live._scene))
        if address.path == "/events":
            return self._stream(live)
        return self._answer(404, "text/plain", "there is /, /scene and /events")

    def _answer(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, live: Live) -> None:
        if not live._joined():
            return self._answer(429, "text/plain", f"{MOST_CLIENTS} pages listen already")
        try:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(b": welcome\n\n")
            self.wfile.flush()
            seen = live.version
            while (now := live._next(seen)) is not None:
                news = b": still here\n\n" if now == seen else b"event: scene\ndata: %d\n\n" % now
                self.wfile.write(news)
                self.wfile.flush()
                seen = now
            self.wfile.write(b"event: end\ndata: 0\n\n")
            self.wfile.flush()
        except OSError:
            pass  # the page is gone
        finally:
            live._left()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on the terminal."""
