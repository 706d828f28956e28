import base64, hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
seen = set()


def is_signed(headers, body):
    id, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "0")
    if not at.isdigit() or abs(time.time() - int(at)) > 300:
        return False
    mac = hmac.new(KEY, f"{id}.{at}.".encode() + body, hashlib.sha256).digest()
    own = "v1," + base64.b64encode(mac).decode()
    sent = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(own.encode(), each.encode()) for each in sent)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        signed = is_signed(self.headers, body)
        if signed and self.headers["webhook-id"] not in seen:
            message = json.loads(body)
            incident = message["data"].get("incident") or {}
            print(message["type"], incident.get("message", ""), flush=True)
            seen.add(self.headers["webhook-id"])
        self.send_response(204 if signed else 401)
        self.end_headers()


HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Receiver).serve_forever()
