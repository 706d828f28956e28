/**
 * Long responses: sent in parts, complete for a client that reads, and counted for one that does
 * not.
 */
import { Memory } from "../../runtime/memory.ts";
import { assert, assertEquals } from "@std/assert";
import { aFinish, aHeartbeat, aRun, runId } from "../support/builders/requests.ts";
import { signedIn } from "../support/harness/dashboard.ts";
import { Harness } from "../support/harness/harness.ts";
import { until } from "../support/harness/until.ts";

const RUN = `/v1/runs/${runId(1)}`;

/** Stores a run whose record has this many bytes, nearly incompressible. */
async function storeLong(h: Harness, bytes: number, key = h.key, n = 1): Promise<void> {
  const text = crypto.getRandomValues(new Uint8Array(1_024)).toHex().repeat(bytes / 2_048);
  await h.post("/v1/runs", aRun(n), { key });
  const path = `/v1/runs/${runId(n)}/finish`;
  const finish = await h.post(path, aFinish({ output: { text } }), { key });
  assertEquals([finish.status, finish.json.output.text], [202, text]);
  await h.worker.idle();
}

/** Bytes of responses in flight. */
function heldBytes(h: Harness): number {
  return h.store.memory.uses().find(({ share }) => share === "answers")?.bytes ?? 0;
}

Harness.test("long responses: the same bytes with length and tag, complete or compressed, or none", async (h) => {
  await storeLong(h, 409_600);
  const plain = await h.get(RUN);
  assertEquals(
    plain.headers.get("content-length"),
    String(new TextEncoder().encode(plain.text).length),
  );
  assertEquals(plain.json.output.text.length, 409_600);
  const path = h.url + RUN;
  const headers = { Authorization: `Bearer ${h.key}`, "Accept-Encoding": "gzip" };
  const packed = await fetch(path, { headers: { ...headers } });
  assertEquals(packed.headers.get("etag"), `W/${plain.headers.get("etag")}`);
  assertEquals(await packed.text(), plain.text);
  const conditional = { "If-None-Match": plain.headers.get("etag") ?? "" };
  assertEquals((await h.get(RUN, { headers: conditional })).status, 304);
  const head = await h.request("HEAD", RUN);
  assertEquals([head.status, head.text, head.headers.get("etag")], [
    200,
    "",
    plain.headers.get("etag"),
  ]);
  const reader = await signedIn(h);
  for (let n = 2; n < 60; n++) await h.post("/v1/heartbeats", aHeartbeat(n));
  await h.worker.idle();
  const page = await reader.get("/dashboard/runs");
  assert(page.text.length > 16_384 && page.text.endsWith("</html>\n"), String(page.text.length));
  assertEquals(heldBytes(h), 0);
});

Deno.test("H10: unread bytes are counted; their team is refused more, others are answered", async () => {
  // Two responses fill a team's share.
  const memory = new Memory(70);
  assert(Math.floor(memory.bytesMax("answers") / 4 / 512_000) === 2);
  await using h = await Harness.open({ tier: "enterprise", memory });
  const other = await h.addTeam("enterprise");
  await storeLong(h, 512_000);
  await storeLong(h, 512_000, other.key);
  await storeLong(h, 51_200, h.key, 2);
  const { hostname, port } = new URL(h.url);
  const get = (path: string) =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${h.key}\r\n\r\n`;
  const sockets: Deno.Conn[] = [];
  // The kernel's and the server's buffers hold some responses. The next one stays in the service,
  // unless these end with a response: so each socket begins with another number of bytes.
  while (heldBytes(h) <= 1_024_000) {
    assert(sockets.length < 20, `${heldBytes(h)} bytes are held`);
    const socket = await Deno.connect({ hostname, port: Number(port) });
    const requests = get(`/v1/runs/${runId(2)}`).repeat(sockets.length) + get(RUN).repeat(100);
    sockets.push(socket);
    await socket.write(new TextEncoder().encode(requests));
    let [answered, same] = [-1, 0];
    await until(() => {
      same = h.log.length === answered ? same + 1 : 0;
      answered = h.log.length;
      return same > 40;
    }, () => "the service answers without an end");
  }
  const own = await h.get(RUN);
  assertEquals([own.status, own.json.error], [503, "overloaded"]);
  assertEquals((await h.get("/v1/usage")).status, 200);
  const theirs = await h.get(RUN, { key: other.key });
  assertEquals([theirs.status, theirs.json.output.text.length], [200, 512_000]);
  for (const socket of sockets) socket.close();
  await until(() => heldBytes(h) === 0, () => `${heldBytes(h)} bytes are still held`);
  assertEquals((await h.get(RUN)).status, 200);
});
