/** Generators of calls: few ids, agents and instants, so that calls conflict often. */
import fc from "fast-check";
import { NOON } from "../../support/harness/harness.ts";
import type { Fields, Request } from "./shape.ts";

/** Runs of a sequence; one has an id of the other region, which is accepted too. */
export const RUN_IDS = ["run_eu_", "run_eu_", "run_eu_", "run_us_"]
  .map((prefix, n) => `${prefix}${`${n + 1}`.padStart(32, "0")}`);
const EVENT_IDS = [1, 2, 3, 4, 5, 6].map((n) => `evt_eu_${`${n}`.padStart(32, "0")}`);
const AGENTS = ["ant", "bee", "Bee"];
const FINISHES = ["success", "failed", "timeout", "cancelled"];
const HEARTBEATS = ["ok", "fail", "timeout", "start"];

const DAY_MS = 86_400_000;
const text = (ms: number) => new Date(NOON + ms).toISOString();

/** One instant in six spellings, one a millisecond later, and changes on other days. */
const STARTS = [
  text(0),
  text(0).replace(".000Z", "Z"),
  text(0).replace("Z", "+00:00"),
  text(0).replace(".000Z", ".0004999-00:00"),
  text(5.5 * 3_600_000).replace(".000Z", "+05:30"),
  text(0).toLowerCase(),
  text(1),
  text(-DAY_MS),
  text(-40 * DAY_MS),
  text(90 * DAY_MS),
];
const NO_INSTANTS = ["2026-02-30T12:00:00Z", "2026-11-21T12:00:00+24:00", "yesterday"];

/** Usually a valid value, sometimes an invalid one. */
function usually<T>(right: fc.Arbitrary<T>, ...wrong: readonly unknown[]): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 100, arbitrary: right },
    { weight: 1, arbitrary: fc.constantFrom<unknown>(undefined, null, 7, "", ...wrong) },
  );
}

/** Present in one of three calls; an optional field may also be null. */
function rarely<T>(value: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 8, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constant(null) },
    { weight: 5, arbitrary: value },
  );
}

/** Present in one of ten calls. */
function seldom(...values: readonly string[]): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 9, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(...values) },
  );
}

const runId = fc.constantFrom(...RUN_IDS);
const sentRunId = usually(runId, "run_xx_00000000000000000000000000000001", "run_eu_1", "evt_eu_1");
/** Usually the same agent, so that most calls of a run agree. */
const agent = usually(fc.constantFrom("ant", "ant", ...AGENTS), " ant", "a\nb", "x".repeat(129));
const start = usually(fc.constantFrom(...STARTS), ...NO_INSTANTS);
const end = usually(
  fc.constantFrom(text(5_000), text(5_000).replace(".000Z", "+00:00"), text(-1_000), text(90_000)),
  ...NO_INSTANTS,
);
const label = rarely(usually(fc.constantFrom("acme", "globex"), "x".repeat(257), true, {}));
const output = rarely(
  usually(
    fc.constantFrom<unknown>({ answer: 42 }, { list: [1, { deep: "💡" }] }, {}, [1], "done"),
    [],
  ),
);

/** Long keys and long or nested values are dropped, and entries beyond the plan's number. */
const labels = fc.uniqueArray(
  fc.tuple(
    fc.oneof(
      fc.constantFrom("env", "10", "2", "a", "b", "c", "💡".repeat(20)),
      fc.constantFrom("k".repeat(21), ...[..."defghijklm"]),
    ),
    fc.constantFrom<unknown>("prod", 1, true, 1.5, "💡".repeat(50), "v".repeat(51), null, { a: 1 }),
  ),
  { maxLength: 14, selector: ([key]) => key, size: "max" },
);
const metadata = rarely(usually(labels, "env=prod"));

const count = usually(fc.constantFrom(0, 1, 12, 1_000), -1, 1.5, "12");
const tokens = {
  provider: rarely(fc.constantFrom("acme", "zenith")),
  model: rarely(fc.constantFrom("atlas", "nobody-knows-it")),
  input_tokens: rarely(count),
  output_tokens: rarely(count),
  cached_input_tokens: rarely(count),
};

/** Creates bodies without the fields that are undefined. */
function definedFields(fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Fields> {
  return fc.record(fields).map((all) =>
    Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  );
}

/** A field that no call knows. */
const unknown = fc.oneof(
  { weight: 30, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constant(1) },
);

const open = definedFields({
  id: sentRunId,
  agent,
  started_at: start,
  customer_id: label,
  feature: label,
  metadata,
  goal: rarely(fc.constantFrom<unknown>("to do this", "to do this", "💡".repeat(16_385), ["x"])),
  idle_timeout_seconds: fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom(undefined, null) },
    {
      weight: 3,
      arbitrary: usually(fc.constantFrom(60, 60, 60, 90, 3_600), 59, 86_401, 60.5),
    },
  ),
  idle_timeout_status: rarely(usually(fc.constantFrom(...FINISHES), "running")),
  statuss: unknown,
}).map((fields): Request => ({ call: "open", fields }));

const finish = fc.tuple(
  sentRunId,
  definedFields({
    status: usually(fc.constantFrom(...FINISHES), "ok", "error"),
    finished_at: end,
    output,
    scores: rarely(
      usually(fc.constantFrom({ depth: 3, good: true }, {}), { bad: "text" }, {
        depth: 1,
        bad: null,
      }, []),
    ),
    metadata,
    statuss: unknown,
  }),
).map(([id, fields]): Request => ({ call: "finish", id: pathId(id), fields }));

const data = fc.oneof(
  fc.constantFrom<Fields>({ message: "line" }, {}, { status: "error" }, {
    name: "open_file",
    error: "no such file",
  }),
  fc.constantFrom<Fields>({ name: "depth", value: 3 }, { name: "good", value: true }, { name: 1 }),
  definedFields(tokens),
);
const event = definedFields({
  id: usually(fc.constantFrom(...EVENT_IDS), "evt_xx_00000000000000000000000000000001"),
  external_id: fc.oneof(
    { weight: 9, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(...EVENT_IDS) },
  ),
  type: usually(
    fc.constantFrom("log", "llm_call", "llm_call", "tool_call", "error", "my.own", "score"),
  ),
  ts: start,
  data: usually(data, []),
  turn: rarely(usually(fc.constantFrom(1, 2), 0)),
  tturn: unknown,
});
const batch = fc.oneof(
  { weight: 30, arbitrary: fc.array(event, { maxLength: 5, size: "max" }) },
  // The maximum batch, of which at most six events are new.
  { weight: 1, arbitrary: fc.array(event, { minLength: 49, maxLength: 51, size: "max" }) },
);
const events = fc.tuple(sentRunId, definedFields({ events: usually(batch, {}) }))
  .map(([id, fields]): Request => ({ call: "events", id: pathId(id), fields }));

const heartbeatFields = {
  id: fc.oneof(
    { weight: 12, arbitrary: sentRunId },
    { weight: 1, arbitrary: fc.constant(undefined) },
  ),
  agent,
  status: fc.oneof(
    { weight: 1, arbitrary: fc.constant("start") },
    { weight: 1, arbitrary: usually(fc.constantFrom("ok", "fail", "timeout", undefined), "done") },
  ),
  started_at: fc.oneof(fc.constant(undefined), start),
  finished_at: rarely(end),
  cost_usd: rarely(usually(fc.constantFrom(0, 0.1, 0.25, 3), -1, 1e6 + 1, "1")),
  ...tokens,
  duration_ms: rarely(count),
};
const heartbeat = definedFields({
  ...heartbeatFields,
  metadata,
  customer_id: label,
  feature: label,
  output,
}).map((fields): Request => ({ call: "heartbeat", fields }));

const ping = fc.tuple(
  definedFields({
    ...heartbeatFields,
    id: fc.oneof(
      { weight: 3, arbitrary: sentRunId },
      { weight: 1, arbitrary: fc.constant(undefined) },
    ),
    rid: seldom("1", "two words", "x".repeat(65)),
    exit_code: rarely(usually(fc.constantFrom("0", "1", "124", "-1"), "one")),
    exitcode: unknown,
    every: seldom("1m", "1h", "1d", "1w", "59s"),
    cron: seldom("0 12 * * *", "30 2 * * *", "daily"),
    tz: seldom("UTC", "Europe/Berlin", "Nowhere"),
    grace: seldom("1m", "1h", "soon", "366d"),
    metadata: rarely(fc.constantFrom("nightly note", "💡".repeat(256), "x".repeat(257))),
  }),
  fc.boolean(),
).map(([fields, isPlain]): Request => ({ call: "ping", fields: asQuery(fields), isPlain }));

/** Converts body fields to query parameters: nothing empty, and only texts. */
function asQuery(fields: Fields): Fields {
  const there = Object.entries(fields).filter(([name, value]) =>
    value !== null && (value !== "" || name === "exit_code")
  );
  return Object.fromEntries(there.map(([name, value]) => {
    const isNumber = /cost|tokens|duration/.test(name) && Number.isFinite(Number(value));
    return [name, isNumber ? Number(value) : String(value)];
  }));
}

/** Returns an id for a path, which must not be empty. */
function pathId(id: unknown): string {
  return typeof id === "string" && id !== "" ? id : "none";
}

/** Any call, in the mix of a team that opens, feeds and closes a few runs in parallel. */
export const anyRequest: fc.Arbitrary<Request> = fc.oneof(
  { weight: 5, arbitrary: open },
  { weight: 5, arbitrary: events },
  { weight: 3, arbitrary: finish },
  { weight: 4, arbitrary: heartbeat },
  { weight: 4, arbitrary: ping },
);

/** Modification of a resent call. */
export interface Change {
  readonly what: "run" | "agent" | "start" | "status" | "labels" | "less" | "wrong" | "events";
  readonly n: number;
}

export const changes: fc.Arbitrary<Change> = fc.record({
  what: fc.constantFrom("run", "agent", "start", "status", "labels", "less", "wrong", "events"),
  n: fc.nat(100),
});

/** Returns a call with a change; a change that does not fit the call is ignored. */
export function changed(request: Request, { what, n }: Change): Request {
  const { fields, id } = request;
  const nth = <T>(list: readonly T[]) => list[n % list.length];
  const put = (changes: Fields): Request => ({ ...request, fields: { ...fields, ...changes } });
  const names = Object.keys(fields);
  switch (what) {
    case "run":
      return id === undefined ? put({ id: nth(RUN_IDS) }) : { ...request, id: nth(RUN_IDS) ?? id };
    case "agent":
      return put({ agent: nth(AGENTS) });
    case "start":
      return put({ started_at: nth(STARTS) });
    case "status":
      return put({ status: nth(request.call === "finish" ? FINISHES : HEARTBEATS) });
    case "labels":
      return put(request.call === "ping" ? { metadata: "other" } : { metadata: [["other", n]] });
    case "less":
      return { ...request, fields: Object.fromEntries(without(Object.entries(fields), n)) };
    case "wrong":
      return put({ [nth(names) ?? "agent"]: request.call === "ping" ? "{}" : -0.5 });
    case "events":
      return Array.isArray(fields.events)
        ? put({ events: fields.events.map((event) => ({ ...event, data: { message: n } })) })
        : request;
    default:
      return what satisfies never;
  }
}

function without<T>(list: readonly T[], n: number): T[] {
  return list.toSpliced(n % Math.max(1, list.length), 1);
}
