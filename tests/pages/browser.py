"""A real browser for tests of pages: headless Chromium, driven through its DevTools pipe.

    with Browser() as browser:
        page = browser.open(path, width=390, dark=True)
        assert page.evaluate("document.title") == "…"
        assert page.errors == [] and page.requests == [path.as_uri()]

Only Python's standard library is needed. Chromium reads commands from descriptor 3 and writes
answers and events to descriptor 4, as JSON that ends with a zero byte.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

TIMEOUT = 60  # seconds, for any single answer

FLAGS = """--headless --no-sandbox --use-angle=swiftshader --enable-unsafe-swiftshader
--no-first-run --no-default-browser-check
--disable-background-networking --disable-component-update --disable-sync --disable-dev-shm-usage
--disable-default-apps --disable-extensions --mute-audio --hide-scrollbars
--remote-debugging-pipe""".split()


class BrowserError(Exception):
    pass


class Browser:
    def __init__(self):
        command = shutil.which("chromium") or shutil.which("chromium-browser")
        if command is None:
            raise BrowserError("chromium is not installed: make setup TIER=test installs it")
        self.profile = tempfile.mkdtemp(prefix="cycloid-browser-")
        read_by_it, self.to_it = os.pipe()
        self.from_it, written_by_it = os.pipe()
        pipes = f'exec "$0" "$@" 3<&{read_by_it} 4>&{written_by_it}'
        self.log = open(Path(self.profile, "log"), "wb")
        self.process = subprocess.Popen(
            [
                "bash",
                "-c",
                pipes,
                command,
                *FLAGS,
                f"--user-data-dir={self.profile}",
                "about:blank",
            ],
            pass_fds=(read_by_it, written_by_it),
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
        )
        os.close(read_by_it)
        os.close(written_by_it)
        self.buffer = b""
        self.last_id = 0
        self.events: list[dict] = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
            self.process.wait(TIMEOUT)
        except (BrowserError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to_it)
        os.close(self.from_it)
        self.log.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self, timeout: float) -> dict | None:
        """The next message, or None when none comes in time."""
        deadline = time.monotonic() + timeout
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.from_it], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                return None
            piece = os.read(self.from_it, 1 << 16)
            if not piece:
                log = Path(self.log.name).read_text(errors="replace")[-2000:]
                raise BrowserError(f"chromium ended unexpectedly; it said:\n{log}")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method: str, session: str | None = None, **params) -> dict:
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        try:
            os.write(self.to_it, json.dumps(message).encode() + b"\0")
        except BrokenPipeError as error:
            raise BrowserError("chromium has ended") from error
        while True:
            answer = self.receive(TIMEOUT)
            if answer is None:
                raise BrowserError(f"no answer to {method} within {TIMEOUT} s")
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, session: str, method: str, **wanted):
        """Waits for an event with these parameters; it stays in the list."""
        seen = 0
        while True:
            for event in self.events[seen:]:
                own = event.get("sessionId") == session and event["method"] == method
                if own and wanted.items() <= event["params"].items():
                    return
            seen = len(self.events)
            event = self.receive(TIMEOUT)
            if event is None:
                raise BrowserError(f"no {method} within {TIMEOUT} s")
            self.events.append(event)

    def open(self, path: Path, **screen) -> "Page":
        """A file; keywords are those of open_address."""
        return self.open_address(path.resolve().as_uri(), **screen)

    def open_address(
        self, address: str, width=1120, height=900, dark=False, scripts=True
    ) -> "Page":
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        page.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.call("Emulation.setEmulatedMedia", features=[scheme])
        page.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        # The load of this page, and not that of the empty one before, which may be told late.
        page.call("Page.setLifecycleEventsEnabled", enabled=True)
        loader = page.call("Page.navigate", url=address)["loaderId"]
        self.wait_for(session, "Page.lifecycleEvent", name="load", loaderId=loader)
        return page


class Page:
    def __init__(self, browser: Browser, session: str):
        self.browser, self.session = browser, session

    def call(self, method: str, **params) -> dict:
        return self.browser.call(method, self.session, **params)

    def evaluate(self, expression: str):
        """The value of a JavaScript expression; promises are awaited."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise BrowserError(json.dumps(answer["exceptionDetails"], indent=1))
        return answer["result"].get("value")

    def screenshot(self, path: Path):
        """The whole page, as PNG."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def _events(self, *methods: str) -> list[dict]:
        self.evaluate("0")  # whatever was on its way has arrived
        return [
            event["params"]
            for event in self.browser.events
            if event.get("sessionId") == self.session and event["method"] in methods
        ]

    @property
    def errors(self) -> list[str]:
        """Exceptions, messages on the console and entries of the browser's log."""
        found = self._events(
            "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"
        )
        return [json.dumps(event) for event in found]

    @property
    def requests(self) -> list[str]:
        """Addresses that were asked for, data: excepted."""
        urls = [event["request"]["url"] for event in self._events("Network.requestWillBeSent")]
        return [url for url in urls if not url.startswith("data:")]
