/** The fast paths have no rules of their own: they agree with mending and the schema. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { Losses } from "../../../../domain/core/losses.ts";
import { eventBody, fastEvent, mendEvent } from "../../../../domain/ingest/event.ts";
import { fastFinish, finishBody, mendFinish } from "../../../../domain/ingest/finish.ts";
import {
  fastHeartbeat,
  heartbeatBody,
  mendHeartbeat,
} from "../../../../domain/ingest/heartbeat.ts";
import { fastOpen, mendOpen, openBody } from "../../../../domain/ingest/open.ts";
import type { Schema } from "../../../../domain/core/validate.ts";

type FastPath = (sent: Record<string, unknown>) => object | null;

const RUN = `run_eu_${"0a".repeat(16)}`, EVENT = `evt_us_${"1b".repeat(16)}`;

/** Values around every rule of the bodies, valid and invalid, for any field. */
const anyValue = fc.oneof(
  fc.constantFrom(RUN, EVENT, RUN.toUpperCase(), "run_xx_" + RUN.slice(7), null, undefined, true),
  fc.constantFrom("2026-01-31T12:00:00.000Z", "2026-01-31T12:00:00+00:00", "2026-02-30T00:00:00Z"),
  fc.constantFrom("ok", "fail", "start", "success", "cancelled", "", " a", "a\n", "\ud800", "é"),
  fc.constantFrom("x".repeat(128), "x".repeat(129), "x".repeat(256), "x".repeat(257)),
  fc.constantFrom("\u{1f600}".repeat(128), "\u{1f600}".repeat(129), "\u{1f600}".repeat(256)),
  fc.constantFrom(0, -0, 1, -1, 1.5, 59, 60, 2 ** 53 - 1, 2 ** 53, 1e6, 1e6 + 1, Infinity),
  fc.constantFrom([], {}, { a: 1 }, { a: true }, { a: null }, { a: Infinity }, { "": 1 }, [1]),
  fc.jsonValue(),
);

/** Fields that make the fast path of an opening fall back, and the alias of an event's id. */
const RARE = [
  ..."parent_run_id goal idle_timeout_seconds idle_timeout_status external_id".split(" "),
];

/** Processing of a body between its fast path and its schema. */
const MENDS: Record<string, (sent: Record<string, unknown>, losses: Losses) => unknown> = {
  event: mendEvent,
  open: (sent, losses) => (mendOpen(sent, JSON.stringify(sent), losses), sent),
  finish: (sent, losses) => (mendFinish(sent, JSON.stringify(sent), losses), sent),
  heartbeat: (sent, losses) => (mendHeartbeat(sent, JSON.stringify(sent), losses), sent),
};

/** For each body: its checks, and a valid value for each of its fields. */
const BODIES: Record<string, [FastPath, Schema<unknown>, Record<string, unknown>]> = {
  open: [fastOpen, openBody, {
    id: RUN,
    agent: "a",
    started_at: "2026-01-31T12:00:00Z",
    customer_id: "c",
    feature: "f",
    metadata: { k: "v" },
  }],
  event: [fastEvent, eventBody, {
    id: EVENT,
    type: "log",
    ts: "2026-01-31T12:00:00.123456Z",
    data: { message: "m" },
    turn: 1,
  }],
  finish: [fastFinish, finishBody, {
    status: "success",
    finished_at: "2026-01-31T12:00:00-00:00",
    output: { o: 1 },
    scores: { s: 0.5, t: true },
    metadata: {},
  }],
  heartbeat: [fastHeartbeat, heartbeatBody, {
    id: RUN,
    agent: "a",
    status: "ok",
    started_at: "2026-01-31T12:00:00Z",
    finished_at: "2026-01-31T12:00:01Z",
    cost_usd: 0.1,
    model: "m",
    provider: "p",
    input_tokens: 1,
    output_tokens: 2,
    cached_input_tokens: 3,
    duration_ms: 4,
    metadata: {},
    customer_id: "c",
    feature: "f",
    output: {},
  }],
};

for (const [name, [check, schema, right]] of Object.entries(BODIES)) {
  const fields = Object.keys(right);

  Deno.test(`${name}: the fast path accepts only bodies that the schema parses to the same value`, () => {
    let accepted = 0;
    const changes = fc.dictionary(fc.constantFrom(...fields, ...RARE), anyValue, { maxKeys: 3 });
    fc.assert(
      fc.property(fc.subarray(fields), changes, (kept, changed) => {
        const input = {
          ...Object.fromEntries(kept.map((field) => [field, right[field]])),
          ...changed,
        };
        const answer = check(input);
        if (answer === null) return;
        accepted++;
        const losses = new Losses();
        const judged = schema.safeParse(MENDS[name]?.({ ...input }, losses) ?? input);
        assert(losses.isEmpty, `something is lost of ${JSON.stringify(input)}`);
        assert(judged.success, `the schema refuses ${JSON.stringify(input)}`);
        assertEquals({ ...answer }, { ...judged.data as object, ...absent(answer, judged.data) });
      }),
      { numRuns: 20_000 },
    );
    assert(accepted > 100, `only ${accepted} were accepted`);
  });
}

/** Treats fields that are `undefined` on one side and absent on the other as equal. */
function absent(answer: object, data: unknown): Record<string, undefined> {
  const missing = Object.keys(answer).filter((key) => !(key in (data as object)));
  return Object.fromEntries(missing.map((key) => [key, undefined]));
}
