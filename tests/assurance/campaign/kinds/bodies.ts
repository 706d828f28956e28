/** The largest, deepest and widest legal bodies of the ingest calls. */
import {
  AGENT_CHARS_MAX,
  BODY_BYTES_MAX,
  EVENT_BYTES_MAX,
  GOAL_CHARS_MAX,
  JSON_DEPTH_MAX,
  OUTPUT_BYTES_MAX,
  SCORE_NAME_CHARS_MAX,
  SCORES_MAX,
} from "../../../../domain/core/limits.ts";
import { type Attack, attack } from "../attack.ts";
import { type Attacker, RATE } from "../attacker.ts";
import {
  aCall,
  anEvent,
  events,
  filled,
  gzip,
  instant,
  label,
  members,
  nested,
  newId,
  noise,
  Padded,
  textOf,
  WIDE,
} from "../values.ts";

const BEATS = "/v1/heartbeats";

/** Returns a heartbeat padded to the largest body; the service creates its id. */
function opening(fields: object = {}): Uint8Array {
  const output = { text: "a text that is a part of a large body" };
  return new Padded(1_024).of({ agent: "a", status: "start", output, ...fields });
}

/** Sends one body repeatedly: the unique parts are in the path or created by the service. */
function beats(attacker: Attacker, body: unknown): Promise<void> {
  return attacker.pace(RATE.ingest, () => attacker.post(BEATS, body));
}

function batches(attacker: Attacker, body: unknown): Promise<void> {
  return attacker.pace(RATE.ingest, () => attacker.post(`/v1/runs/${newId("run")}/events`, body));
}

function finishes(attacker: Attacker, body: unknown): Promise<void> {
  return attacker.pace(RATE.ingest, () => attacker.post(`/v1/runs/${newId("run")}/finish`, body));
}

/** Bytes reserved for a body without its largest part. */
const REST_BYTES = 300;

/** Attacks with large bodies. */
export const bodies: readonly Attack[] = [
  attack({
    name: "openings",
    finding: "C1",
    does: "heartbeats of a few kB that inflate to 2 MiB and open a run with an output",
    run: (attacker) => beats(attacker, opening()),
  }),
  attack<{ token: string }>({
    name: "openings by a ping token",
    finding: "C1",
    does: "the same with a ping token",
    async setUp(attacker) {
      const token = { kind: "ping_token", name: "a", agent: "a" };
      const answer = await attacker.post("/v1/keys", token);
      return { token: JSON.parse(new TextDecoder().decode(answer?.bytes)).secret };
    },
    async run(attacker, { token: key }) {
      const body = opening() as Uint8Array<ArrayBuffer>;
      const headers = { "Content-Encoding": "gzip" };
      await attacker.pace(RATE.ingest, () => attacker.send("POST", BEATS, { body, headers, key }));
    },
  }),
  attack({
    name: "openings with long labels",
    finding: null,
    does: "the same with the longest goal and labels, each in a body of 2 MiB",
    async run(attacker) {
      const padded = new Padded(100_000);
      const labels = {
        customer_id: label("c"),
        feature: label("f"),
        goal: label("g", GOAL_CHARS_MAX),
      };
      await attacker.pace(RATE.ingest, () => {
        const opening = { id: newId("run"), agent: "a", started_at: instant(), ...labels };
        return attacker.post("/v1/runs", padded.of(opening));
      });
    },
  }),
  attack({
    name: "deepest outputs",
    finding: null,
    does: `outputs of ${JSON_DEPTH_MAX} levels, as many as fit into a list`,
    async run(attacker) {
      const deep = filled(OUTPUT_BYTES_MAX - REST_BYTES, nested(JSON_DEPTH_MAX - 3));
      await beats(attacker, gzip(`{"agent":"a","output":{"a":${deep}}}`));
    },
  }),
  attack({
    name: "deepest events",
    finding: null,
    does: `3 events per batch with ${JSON_DEPTH_MAX} levels and 260 kB each`,
    async run(attacker) {
      const deep = filled(EVENT_BYTES_MAX - 2 * REST_BYTES, nested(JSON_DEPTH_MAX - 6));
      await batches(attacker, gzip(textOf(deep, 3)));
    },
  }),
  attack({
    name: "widest outputs",
    finding: null,
    does: "outputs of 512 KiB of empty objects, 170,000 of them",
    async run(attacker) {
      const wide = filled(OUTPUT_BYTES_MAX - REST_BYTES, "{}");
      await beats(attacker, gzip(`{"agent":"a","output":{"a":${wide}}}`));
    },
  }),
  attack({
    name: "widest events",
    finding: null,
    does: "3 events per batch with 260 kB of empty objects each",
    async run(attacker) {
      const wide = filled(EVENT_BYTES_MAX - 2 * REST_BYTES, "{}");
      await batches(attacker, gzip(textOf(wide, 3)));
    },
  }),
  attack({
    name: "widest ignored fields",
    finding: null,
    does: "bodies of 2 MiB of empty objects in an ignored field",
    async run(attacker) {
      const wide = filled(BODY_BYTES_MAX - REST_BYTES, "{}");
      await beats(attacker, gzip(`{"agent":"a","a":${wide}}`));
    },
  }),
  attack({
    name: "most member names",
    finding: null,
    does: "bodies of 2 MiB of members with distinct names",
    async run(attacker) {
      await beats(attacker, gzip(`{"agent":"a","a":${members(BODY_BYTES_MAX - REST_BYTES)}}`));
    },
  }),
  attack({
    name: "metadata of thousands of keys",
    finding: null,
    does: "2 MiB of metadata entries that the plan drops",
    async run(attacker) {
      const metadata = members(BODY_BYTES_MAX - REST_BYTES, '"value"');
      await beats(attacker, gzip(`{"agent":"a","metadata":${metadata}}`));
    },
  }),
  attack({
    name: "longest numbers",
    finding: null,
    does: "numbers of 500,000 digits, and 2 MiB of numbers with exponents",
    async run(attacker) {
      const digits = gzip(`{"agent":"a","output":{"a":${"9".repeat(OUTPUT_BYTES_MAX - 20)}}}`);
      const exponents = gzip(
        `{"agent":"a","a":${filled(BODY_BYTES_MAX - REST_BYTES, "1.7976931348623157e308")}}`,
      );
      let n = 0;
      await attacker.pace(RATE.ingest, () => attacker.post(BEATS, n++ % 2 ? digits : exponents));
    },
  }),
  attack({
    name: "escaped characters",
    finding: null,
    does: "outputs of 87,000 escapes such as \\u0001 and lone surrogates",
    async run(attacker) {
      const escapes = "\\u0001\\ud83d".repeat((OUTPUT_BYTES_MAX - REST_BYTES) / 12);
      await beats(attacker, gzip(`{"agent":"a","output":{"a":"${escapes}"}}`));
    },
  }),
  attack({
    name: "batches of wide characters",
    finding: null,
    does: "50 events of 20 kB of characters of 4 bytes, each batch in a new run",
    async run(attacker) {
      await batches(attacker, gzip(events(50, () => anEvent({ message: WIDE.repeat(5_000) }))));
    },
  }),
  attack({
    name: "outputs that do not compress",
    finding: "M7",
    does: "380 kB of noise in each heartbeat: the most that a team may store per second",
    async run(attacker) {
      const outputs = Array.from(
        { length: 8 },
        () => JSON.stringify({ agent: "a", output: { a: noise(380_000) } }),
      );
      let n = 0;
      await attacker.pace(RATE.ingest, () => attacker.post(BEATS, outputs[n++ % 8]), 64);
    },
  }),
  attack({
    name: "plain bodies of 2 MiB in bursts",
    finding: null,
    does: "200 bodies of 2 MiB without compression in parallel, every 2 s",
    async run(attacker) {
      const body = JSON.stringify({ agent: "a", a: "p".repeat(BODY_BYTES_MAX - REST_BYTES) });
      await attacker.pace(0.5, async () => {
        await Promise.all(Array.from({ length: 200 }, () => attacker.post(BEATS, body)));
      });
    },
  }),
  attack({
    name: "gzip bombs",
    finding: null,
    does: "194 kB that inflate to 200 MB",
    async run(attacker) {
      const body = gzip(" ".repeat(200_000_000));
      await attacker.pace(RATE.ingest, () => attacker.post(BEATS, body), 64);
    },
  }),
  attack({
    name: "longest labels",
    finding: "M6",
    does: "256 characters of 4 bytes in every label, 20 models per run, all different each time",
    async run(attacker) {
      await attacker.pace(RATE.ingest / 2, async (n) => {
        const id = newId("run");
        const [provider, model] = [label(`p${n}`), label(`m${n}`)];
        const labels = { customer_id: label(`c${n}`), feature: label(`f${n}`), provider, model };
        const beat = { id, agent: "a", ...labels, input_tokens: 1_000, output_tokens: 100 };
        const calls = events(20, (k) => aCall(label(`p${n}-${k}`), label(`m${n}-${k}`)));
        await Promise.all([
          attacker.post(BEATS, beat),
          attacker.post(`/v1/runs/${id}/events`, calls),
        ]);
      });
    },
  }),
  attack({
    name: "longest agents",
    finding: null,
    does: "agents of 128 characters of 4 bytes, a different one each time: the cap refuses most",
    run: (attacker) =>
      attacker.pace(
        RATE.ingest,
        (n) => attacker.post(BEATS, { agent: label(n, AGENT_CHARS_MAX) }),
      ),
  }),
  attack({
    name: "scores of a finish",
    finding: null,
    does: `${SCORES_MAX} scores with the longest names in each finish`,
    async run(attacker) {
      const names = Array.from({ length: SCORES_MAX }, (_, n) => label(n, SCORE_NAME_CHARS_MAX));
      const scores = Object.fromEntries(names.map((name) => [name, 1e308]));
      await finishes(attacker, gzip({ status: "success", finished_at: instant(), scores }));
    },
  }),
  attack({
    name: "added scores",
    finding: null,
    does: "scores with the longest names and sources, 200 for each run",
    run: (attacker) => {
      let run = newId("run");
      return attacker.pace(RATE.ingest, (n) => {
        if (n % 200 === 0) run = newId("run");
        const name = label(n, SCORE_NAME_CHARS_MAX);
        const score = { id: newId("scr"), name, value: 1, source: name };
        return attacker.post(`/v1/runs/${run}/scores`, score);
      });
    },
  }),
  attack({
    name: "one run by all",
    finding: null,
    does: "new and repeated batches, finishes and scores of one run, all in parallel",
    async run(attacker) {
      const path = `/v1/runs/${newId("run")}`;
      const same = events(50);
      await attacker.pace(RATE.ingest, (n) => {
        if (n % 4 === 0) return attacker.post(`${path}/events`, same);
        if (n % 4 === 1) return attacker.post(`${path}/events`, events(50));
        const close = { status: "success", finished_at: instant() };
        const score = { id: newId("scr"), name: "a", value: n };
        return n % 4 === 2
          ? attacker.post(`${path}/finish`, close)
          : attacker.post(`${path}/scores`, score);
      });
    },
  }),
];
