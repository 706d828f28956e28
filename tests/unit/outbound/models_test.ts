/** Calls of models: what was sent, what it may have cost, and where the key goes. */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { type Connection, parseConnections } from "../../../domain/judges/connection.ts";
import type { CallOutcome } from "../../../domain/judges/judge_job.ts";
import { refusalReason } from "../../../domain/judges/judge_job.ts";
import { createModels } from "../../../outbound/models.ts";
import { aJudge, completion } from "../../support/builders/judges.ts";
import { answer, HANG_UP, Receiver, SILENT } from "../../support/fakes/receiver.ts";

const GOOD = completion({ reasoning: "r", value: 5 }, { prompt: 7, completion: 3 });
const NOW = Date.UTC(2026, 10, 28);

function connectionTo(port: number, key = ",MODEL_KEY"): Connection {
  const [connection] = parseConnections(`local=http://127.0.0.1:${port}/v1${key}`) ?? [];
  assert(connection !== undefined);
  return connection;
}

function call(
  connection: Connection,
  key?: string,
  callMsMax = 10_000,
  signal = new AbortController().signal,
): Promise<CallOutcome> {
  const models = createModels({
    connections: [connection],
    keyOf: (variable) => variable === "MODEL_KEY" ? key : undefined,
    resolve: () => Promise.resolve(["127.0.0.1"]),
    now: () => NOW,
    callMsMax,
  });
  return models.call(connection, "{}", aJudge(), signal);
}

Deno.test("models: a call has the key of its connection, and a complete answer is read", async () => {
  await using receiver = new Receiver(answer(200, {}, GOOD));
  const outcome = await call(connectionTo(receiver.port), "sk-secret");
  assertEquals(outcome, {
    kind: "answered",
    answer: {
      result: { value: 5, score: 1, passed: true, reasoning: "r" },
      tokens: { inputTokens: 7, outputTokens: 3, cachedInputTokens: 0, cacheWriteTokens: 0 },
    },
  });
  const [request] = receiver.requests;
  assertEquals([request?.path, request?.body], ["/v1/chat/completions", "{}"]);
  assertEquals(request?.headers.get("authorization"), "Bearer sk-secret");
  await call(connectionTo(receiver.port, ""));
  assertEquals(receiver.requests[1]?.headers.get("authorization"), null);
});

Deno.test("models: without its key a connection gets no request", async () => {
  await using receiver = new Receiver(answer(200, {}, GOOD));
  for (const key of [undefined, "two\nlines"]) {
    const outcome = await call(connectionTo(receiver.port), key);
    assert(outcome.kind === "refused");
    assertEquals(refusalReason(outcome), "no_key");
  }
  assertEquals(receiver.connections, 0);
});

Deno.test("models: an error keeps its status, a plain code, and how long to wait", async () => {
  const error = JSON.stringify({ error: { code: "insufficient_quota", message: "sk-secret" } });
  const later = new Date(NOW + 90_000).toUTCString();
  for (const [sent, retryAfterMs] of [["90", 90_000], [later, 90_000], ["1e9", null]] as const) {
    await using receiver = new Receiver(answer(429, { "retry-after": sent }, error));
    const outcome = await call(connectionTo(receiver.port), "k");
    const code = "insufficient_quota";
    assertEquals(outcome, { kind: "refused", status: 429, code, retryAfterMs });
  }
});

Deno.test("models: a refused connection was not sent", async () => {
  const closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  closed.close();
  assertEquals(await call(connectionTo(closed.addr.port), "k"), { kind: "unsent" });
});

Deno.test("models: what may have been sent is lost, not unsent", async () => {
  const head = "HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n";
  await using receiver = new Receiver(HANG_UP);
  const connection = connectionTo(receiver.port);
  assertEquals(await call(connection, "k"), { kind: "lost" });
  // The body ends before its length.
  receiver.behavior = (connection) => connection.write(`${head}${GOOD.slice(0, -1)}`);
  assertEquals(await call(connection, "k"), { kind: "lost" });
  receiver.behavior = answer(204);
  assertEquals(await call(connection, "k"), { kind: "lost" });
  // More than 1 MiB.
  receiver.behavior = answer(200, {}, `${" ".repeat(1_300_000)}${GOOD}`);
  assertEquals(await call(connection, "k"), { kind: "lost" });
  const late = new AbortController();
  receiver.behavior = ({ closed }) => {
    late.abort();
    return closed;
  };
  assertEquals(await call(connection, "k", 10_000, late.signal), { kind: "lost" });
  receiver.behavior = SILENT;
  // On a busy machine the time may be over before the request is sent.
  assertNotEquals((await call(connection, "k", 50)).kind, "answered");
});

Deno.test("models: an answer below 1 MiB is read as a whole", async () => {
  await using receiver = new Receiver(answer(200, {}, `${" ".repeat(900_000)}${GOOD}`));
  assertEquals((await call(connectionTo(receiver.port), "k")).kind, "answered");
});
