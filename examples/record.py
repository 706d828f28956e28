"""Records a run with a model call in Runledger. Python 3.8 or newer, the standard library only."""
import json, os, time, urllib.request
from datetime import datetime, timezone

SERVICE = os.environ.get("RUNLEDGER_URL", "http://127.0.0.1:8000")
KEY = os.environ.get("RUNLEDGER_KEY", "apk_eu_0123456789abcdef0123456789abcdef")
new_id = lambda kind: f"{kind}_{KEY.split('_')[1]}_{os.urandom(16).hex()}"
now = lambda: datetime.now(timezone.utc).isoformat()

def post(path, body):
    """Repeats a call without an answer; by its ids, the service counts it once."""
    headers = {"Authorization": f"Bearer {KEY}"}
    request = urllib.request.Request(SERVICE + path, json.dumps(body).encode(), headers)
    for wait in (1, 2, 4, None):
        try:
            return urllib.request.urlopen(request, timeout=10).close()
        except OSError as error:
            if wait is None or getattr(error, "code", 503) not in (408, 429, 500, 502, 503):
                raise RuntimeError(getattr(error, "read", lambda: error)()) from error
            time.sleep(wait)

class Run:
    def __init__(self, agent, **labels):
        self.path, self.output = "/v1/runs/" + new_id("run"), None
        post("/v1/runs", {"id": self.path[9:], "agent": agent, "started_at": now(), **labels})

    def record(self, type, **data):
        events = [{"id": new_id("evt"), "type": type, "ts": now(), "data": data}]
        post(self.path + "/events", {"events": events})

    __enter__ = lambda self: self

    def __exit__(self, failure, *_):
        end = {"status": "failed" if failure else "success", "output": self.output}
        post(self.path + "/finish", {**end, "finished_at": now()})

with Run("summarizer", customer_id="acme") as run:
    run.record("llm_call", model="gpt-4o", input_tokens=1200, output_tokens=340)
    run.output = {"answer": 42}
