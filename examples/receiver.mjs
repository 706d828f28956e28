import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import process from "node:process";

const key = Buffer.from(process.env.WEBHOOK_SECRET.slice("whsec_".length), "base64");
const seen = new Set();

function isSigned(headers, body) {
  const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": list = "" } = headers;
  if (!(Math.abs(Date.now() / 1000 - at) < 300)) return false;
  const own = createHmac("sha256", key).update(`${id}.${at}.${body}`).digest();
  return list.split(" ").some((entry) => {
    const [version, text = ""] = entry.split(",");
    const sent = Buffer.from(text, "base64");
    return version === "v1" && sent.length === own.length && timingSafeEqual(sent, own);
  });
}

const server = createServer(async (request, response) => {
  let body = "";
  for await (const part of request.setEncoding("utf8")) body += part;
  const id = request.headers["webhook-id"];
  if (!isSigned(request.headers, body)) return response.writeHead(401).end();
  if (!seen.has(id)) {
    const { type, data } = JSON.parse(body);
    // deno-lint-ignore no-console -- a program shows what it got
    console.log(type, data.incident?.message ?? "");
    seen.add(id);
  }
  response.writeHead(204).end();
});
server.listen(Number(process.env.PORT ?? 9000), "127.0.0.1");
