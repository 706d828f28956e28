/** Nothing cached after a request retains the request's body or its URL. */
import { assert, assertEquals } from "@std/assert";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  aFinish,
  aHeartbeat,
  anEvent,
  aRun,
  aScore,
  eventId,
  runId,
} from "../../support/builders/requests.ts";
import { enterprise, Harness } from "../../support/harness/harness.ts";

/** Requests of each kind, and units of filler in each: together far more than may be retained. */
const REQUESTS = 5, FILLER = 1_000_000, LONG_URLS = 60, URL_FILLER = 50_000;

/** Bytes that all requests of one kind may retain; their bodies or URLs are larger. */
const KEPT_BYTES_MAX = 2_000_000;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function heapBytes(): number {
  collect();
  return Deno.memoryUsage().heapUsed;
}

/** Texts of every stored field: long enough that V8 slices instead of copying them. */
function labels(n: number) {
  return {
    agent: "an-agent-with-a-long-name",
    customer_id: `a customer with a long name ${n}`,
    feature: `a feature with a long name ${n}`,
    metadata: { [`a_long_metadata_${n}`]: `a long value of metadata ${n}`, other: n },
  };
}

const output = { result: "an output that is long enough to be cut out" };
const filler = { zzz: "p".repeat(FILLER) };
const call = { model: "a-model-with-a-long-name", provider: "a-long-provider", input_tokens: 1 };

/** Calls that store something, each with a body of about 1 MiB or a very long URL. */
const KINDS: Record<string, { readonly send: Send; readonly count?: number }> = {
  open: { send: (h, n) => h.post("/v1/runs", aRun(n, { ...labels(n), goal: "goal", ...filler })) },
  "heartbeat that begins a run": {
    send: (h, n) =>
      h.post("/v1/heartbeats", aHeartbeat(n, { ...labels(n), status: "start", ...filler }), {
        headers: { traceparent: `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01` },
      }),
  },
  "heartbeat that begins a run, with an output": {
    send: (h, n) =>
      h.post("/v1/heartbeats", aHeartbeat(n, { ...labels(n), status: "start", output, ...filler })),
  },
  "heartbeat that is all of a run": {
    send: (h, n) => h.post("/v1/heartbeats", aHeartbeat(n, { ...labels(n), output, ...filler })),
  },
  finish: {
    send: (h, n) =>
      h.post(
        `/v1/runs/${runId(n)}/finish`,
        aFinish({ output, metadata: labels(n).metadata, scores: { "a long name": 1 }, ...filler }),
      ),
  },
  events: {
    send: (h, n) =>
      h.post(`/v1/runs/${runId(n)}/events`, {
        events: [anEvent(n, { type: "llm_call", data: call }), anEvent(n + 1)],
        ...filler,
      }),
  },
  scores: {
    send: (h, n) => h.post(`/v1/runs/${runId(n)}/scores`, aScore(n, { ...filler })),
  },
  "ping with a long URL": {
    count: LONG_URLS,
    send: (h, n) =>
      h.get(
        `/v1/ping?agent=an-agent-with-a-long-name&status=start&id=${runId(n)}` +
          `&metadata=a+note+that+is+long+enough&zzz=${"p".repeat(URL_FILLER)}`,
      ),
  },
  "finish with a long URL": {
    count: LONG_URLS,
    send: (h, n) => h.post(`/v1/runs/${runId(n)}/finish?zzz=${"p".repeat(URL_FILLER)}`, aFinish()),
  },
  "events with a long URL": {
    count: LONG_URLS,
    send: (h, n) =>
      h.post(`/v1/runs/${runId(n)}/events?zzz=${"p".repeat(URL_FILLER)}`, {
        events: [{ ...anEvent(1), id: eventId(n) }],
      }),
  },
};

type Send = (h: Harness, n: number) => ReturnType<Harness["post"]>;

enterprise.test("no cache retains the bodies or URLs of the requests that filled it", async (h) => {
  let n = 1;
  const stored: Record<string, number> = {};
  for (const [name, { send, count = REQUESTS }] of Object.entries(KINDS)) {
    // One-time compilation and caches of the first requests are not retained bodies.
    for (let warm = 0; warm < 2; warm++) await sendOne(h, send, n++);
    const before = heapBytes();
    for (let sentCount = 0; sentCount < count; sentCount++) await sendOne(h, send, n++);
    stored[name] = heapBytes() - before;
    h.log.length = 0;
  }
  const tooMuch = Object.entries(stored).filter(([, bytes]) => bytes > KEPT_BYTES_MAX);
  assertEquals(tooMuch, []);
  assert(h.store.memory.uses().every(({ bytes, bytesMax }) => bytes <= bytesMax));
});

async function sendOne(h: Harness, send: Send, n: number): Promise<void> {
  const { status, text } = await send(h, n);
  assert(status === 200 || status === 202, text);
}
