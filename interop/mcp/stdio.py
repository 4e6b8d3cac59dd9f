"""A minimal MCP client over standard input and output: raw JSON, so that nothing is hidden or corrected."""
import json
import os
import subprocess
import tempfile
import threading

NOWHERE = "http://127.0.0.1:9"
# Whatever does not go to loopback goes to a proxy where nobody listens, so nothing leaves the machine.
OFFLINE = {
    **{name: NOWHERE for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")},
    "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost",
}


class Client:
    def __init__(self, command, env=None, timeout=60):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, env={**os.environ, **OFFLINE, **(env or {})})
        self.next_id = 0
        self.watchdog = threading.Timer(timeout, self.process.kill)
        self.watchdog.start()
        try:
            self.greeting = self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "interop", "version": "1"}})
            self.send({"method": "notifications/initialized"})
        except BaseException:
            self.close()
            raise

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.next_id += 1
        self.send({"id": self.next_id, "method": method, "params": params})
        for line in self.process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if message.get("id") == self.next_id and "method" not in message:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            if "id" in message and "method" in message:
                self.send({"id": message["id"], "error": {"code": -32601, "message": "not supported"}})
        self.errors.seek(0)
        raise RuntimeError(f"{method}: the server ended: {self.errors.read()[-2000:].decode(errors='replace')}")

    def tools(self):
        tools, params = [], {}
        while True:
            page = self.ask("tools/list", params)
            tools += page["tools"]
            if "nextCursor" not in page:
                return tools
            params = {"cursor": page["nextCursor"]}

    def close(self):
        self.watchdog.cancel()
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
