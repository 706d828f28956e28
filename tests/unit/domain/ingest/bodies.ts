/** Bodies of ingest calls for tests of properties: fields that fit, and values that may not. */
import fc from "fast-check";

const RUN = `run_eu_${"0a".repeat(16)}`, EVENT = `evt_us_${"1b".repeat(16)}`;

/** Values around every rule of the bodies, valid and invalid, for any field. */
export const anyValue = fc.oneof(
  fc.constantFrom(RUN, EVENT, RUN.toUpperCase(), "run_xx_" + RUN.slice(7), null, undefined, true),
  fc.constantFrom("2026-01-31T12:00:00.000Z", "2026-01-31T12:00:00+00:00", "2026-02-30T00:00:00Z"),
  fc.constantFrom("ok", "fail", "start", "success", "cancelled", "", " a", "a\n", "\ud800", "é"),
  fc.constantFrom("x".repeat(128), "x".repeat(129), "x".repeat(256), "x".repeat(257)),
  fc.constantFrom("\u{1f600}".repeat(128), "\u{1f600}".repeat(129), "\u{1f600}".repeat(256)),
  fc.constantFrom(0, -0, 1, -1, 1.5, 59, 60, 2 ** 53 - 1, 2 ** 53, 1e6, 1e6 + 1, Infinity),
  fc.constantFrom([], {}, { a: 1 }, { a: true }, { a: null }, { a: Infinity }, { "": 1 }, [1]),
  fc.jsonValue(),
);

/** For each body a valid value for its fields. */
export const FITTING: Record<
  "open" | "event" | "finish" | "heartbeat",
  Readonly<Record<string, unknown>>
> = {
  open: {
    id: RUN,
    agent: "a",
    started_at: "2026-01-31T12:00:00Z",
    customer_id: "c",
    feature: "f",
    metadata: { k: "v" },
  },
  event: {
    id: EVENT,
    type: "log",
    ts: "2026-01-31T12:00:00.123456Z",
    data: { message: "m" },
    turn: 1,
  },
  finish: {
    status: "success",
    finished_at: "2026-01-31T12:00:00-00:00",
    output: { o: 1 },
    scores: { s: 0.5, t: true },
    metadata: {},
  },
  heartbeat: {
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
  },
};
