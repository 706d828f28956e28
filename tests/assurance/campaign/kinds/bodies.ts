/** The largest, deepest and widest legal bodies of the ingest calls. */
import {
  BATCH_STRUCTURE_MAX,
  BODY_BYTES_MAX,
  EVENT_BYTES_MAX,
  EVENTS_BODY_BYTES_MAX,
  JSON_DEPTH_MAX,
  OUTPUT_BYTES_MAX,
} from "../../../../domain/core/limits.ts";
import { type Attack, jsonOf, RATE } from "../attacker.ts";
import {
  aCall,
  anEvent,
  events,
  filled,
  gzip,
  instant,
  label,
  nested,
  newId,
  noise,
  padded,
  textOf,
} from "../values.ts";

/** Bytes reserved for a body without its largest part. */
const REST_BYTES = 300;

/** Paths of the calls; a run is a new one each time. */
const CALLS = {
  heartbeat: () => "/v1/heartbeats",
  events: () => `/v1/runs/${newId("run")}/events`,
  finish: () => `/v1/runs/${newId("run")}/finish`,
} as const;

/** An attack that sends few bodies repeatedly; the unique parts are in the path. */
function posting(
  name: string,
  does: string,
  call: keyof typeof CALLS,
  bodiesOf: () => readonly unknown[],
  inFlightMax?: number,
): Attack {
  return {
    name,
    does,
    run(attacker) {
      const bodies = bodiesOf();
      const send = (n: number) => attacker.post(CALLS[call](), bodies[n % bodies.length]);
      return attacker.pace(RATE.ingest, send, inFlightMax);
    },
  };
}

/** Returns a heartbeat with an output in JSON text. */
function withOutput(json: string): Uint8Array {
  return gzip(`{"agent":"a","output":{"a":${json}}}`);
}

/** Returns the largest batch without events: an ignored field fills it. */
function largest(element: string): Uint8Array {
  return gzip(`{"more":${filled(EVENTS_BODY_BYTES_MAX - REST_BYTES, element)},"events":[]}`);
}

export const BODIES: readonly Attack[] = [
  {
    name: "openings by a ping token",
    does: "heartbeats of a few kB that inflate to 2 MiB and open a run with an output",
    async setUp(attacker) {
      const token = { kind: "ping_token", name: "a", agent: "a" };
      return [jsonOf(await attacker.post("/v1/keys", token)).secret];
    },
    async run(attacker, [key = ""]) {
      const output = { text: "a text that is a part of a large body" };
      const body = padded({ agent: "a", status: "start", output });
      const options = { body, headers: { "Content-Encoding": "gzip" }, key };
      await attacker.pace(RATE.ingest, () => attacker.send("POST", "/v1/heartbeats", options));
    },
  },
  posting(
    "deepest outputs",
    `outputs of ${JSON_DEPTH_MAX} levels, as many as fit into a list`,
    "heartbeat",
    () => [withOutput(filled(OUTPUT_BYTES_MAX - REST_BYTES, nested(JSON_DEPTH_MAX - 3)))],
  ),
  posting("widest events", "3 events per batch with 260 kB of empty objects each", "events", () => {
    return [gzip(textOf(filled(EVENT_BYTES_MAX - 2 * REST_BYTES, "{}"), 3))];
  }),
  posting(
    "longest numbers",
    "numbers of 500,000 digits, and 2 MiB of numbers with exponents",
    "heartbeat",
    () => [
      withOutput("9".repeat(OUTPUT_BYTES_MAX - 20)),
      gzip(`{"agent":"a","a":${filled(BODY_BYTES_MAX - REST_BYTES, "1.7976931348623157e308")}}`),
    ],
  ),
  posting(
    "outputs that do not compress",
    "380 kB of noise in each heartbeat: the most that a team may store per second",
    "heartbeat",
    () => Array.from({ length: 8 }, () => ({ agent: "a", output: { a: noise(380_000) } })),
    64,
  ),
  posting(
    "16 MiB of an unknown field",
    "batches with 16 MiB of numbers in an ignored field",
    "events",
    () => [largest("0")],
    64,
  ),
  posting(
    "one event of 16 MiB",
    "events of 16 MiB of numbers, or of as many members as a batch may have, to be truncated",
    "events",
    () => {
      const wide = filled(EVENTS_BODY_BYTES_MAX - 2 * REST_BYTES, "0");
      const many = `{${'"a":0,'.repeat(BATCH_STRUCTURE_MAX - REST_BYTES)}"b":0}`;
      return [wide, many].map((data) => gzip(textOf(data, 1)));
    },
    64,
  ),
  posting(
    "50 events of 256 KiB",
    "batches of 13 MB of noise, and of numbers that are a few kB on the wire",
    "events",
    () => [
      JSON.stringify(events(50, () => anEvent({ a: noise(EVENT_BYTES_MAX * 3 / 4 - REST_BYTES) }))),
      gzip(textOf(filled(EVENT_BYTES_MAX - REST_BYTES, "0"), 50)),
    ],
    16,
  ),
  {
    name: "plain bodies of 2 MiB in bursts",
    does: "200 bodies of 2 MiB without compression in parallel, every 2 s",
    run(attacker) {
      const body = JSON.stringify({ agent: "a", a: "p".repeat(BODY_BYTES_MAX - REST_BYTES) });
      const send = () => attacker.post("/v1/heartbeats", body);
      return attacker.pace(0.5, () => Promise.all(Array.from({ length: 200 }, send)));
    },
  },
  {
    name: "longest labels",
    does: "256 characters of 4 bytes in every label, 20 models per run, all different each time",
    run: (attacker) =>
      attacker.pace(RATE.ingest / 2, async (n) => {
        const id = newId("run");
        const [provider, model] = [label(`p${n}`), label(`m${n}`)];
        const labels = { customer_id: label(`c${n}`), feature: label(`f${n}`), provider, model };
        const beat = { id, agent: "a", ...labels, input_tokens: 1_000, output_tokens: 100 };
        const calls = events(20, (k) => aCall(label(`p${n}-${k}`), label(`m${n}-${k}`)));
        await Promise.all([
          attacker.post("/v1/heartbeats", beat),
          attacker.post(`/v1/runs/${id}/events`, calls),
        ]);
      }),
  },
  {
    name: "one run by all",
    does: "new and repeated batches, finishes and scores of one run, all in parallel",
    run(attacker) {
      const path = `/v1/runs/${newId("run")}`;
      const same = events(50);
      const close = { status: "success", finished_at: instant() };
      return attacker.pace(RATE.ingest, (n) => {
        if (n % 4 === 0) return attacker.post(`${path}/events`, same);
        if (n % 4 === 1) return attacker.post(`${path}/events`, events(50));
        if (n % 4 === 2) return attacker.post(`${path}/finish`, close);
        return attacker.post(`${path}/scores`, { id: newId("scr"), name: "a", value: n });
      });
    },
  },
];
