/** Reads the complete store of a world key by key into the model's form. */
import { assert, assertEquals } from "@std/assert";
import { dollars } from "../../../domain/pricing/money.ts";
import type { Closing, Opening } from "../../../domain/runs/run.ts";
import { unpackBlob } from "../../../kv/base/blob.ts";
import { decodeBatch, decodeParts } from "../../../kv/base/codec.ts";
import type { IdleClose } from "../../../domain/runs/idle.ts";
import type { Event, Fields, State } from "./shape.ts";
import type { World } from "./world.ts";

/** Key families other than runs, agents and counters that may exist when the worker is idle. */
const OTHER_FAMILIES = new Set([
  ..."format first_team team credential team_credential rate rollup rollup_day rollup_version"
    .split(" "),
  ..."change run_by expiry block agent_activity audit_log receipt clock work monitor flip".split(
    " ",
  ),
  ..."config alert alert_state incident incident_at open_incident open_pings".split(" "),
]);

/** Parts of a run that are derived from others; the integrity check covers them. */
const DERIVED = new Set("ledger summary price prices score incidents".split(" "));

interface StoredRun {
  opening?: unknown;
  closing?: unknown;
  idle?: unknown;
  readonly events: Event[];
  batches: number;
}

/** The state without monitors, which reads show, and without pings, which later pings show. */
type Rows = Omit<State, "monitors" | "pings">;

/** Reads everything; `others` are further allowed families of keys. */
export async function storedState(world: World, others: readonly string[] = []): Promise<Rows> {
  const runs: Record<string, StoredRun> = {};
  const agents: Record<string, number> = {};
  const usage: Record<string, number> = {};
  let agentCount = 0;
  for await (const { key, value } of world.store.reader.list({ prefix: [] }, { batchSize: 500 })) {
    const [family, name, owner, part] = key.map(String) as [string, string, string, string];
    const isOurs = (family === "run" || family === "events" ? owner : name) === world.team.id;
    if (OTHER_FAMILIES.has(family) || others.includes(family)) continue;
    assert(isOurs, `a key of no team of this world: ${Deno.inspect(key)}`);
    const run = runs[name] ?? { events: [], batches: 0 };
    if (family === "events" && part === "batch") run.batches++;
    if (family === "usage") usage[owner] = Number((value as Deno.KvU64).value);
    else if (family === "agent") agents[owner] = (value as { created_at: number }).created_at;
    else if (family === "agent_count") agentCount = Number((value as Deno.KvU64).value);
    else if (family === "events" && part === "batch") {
      run.events.push(...eventsOf(value));
      runs[name] = run;
    } else if (family === "run" && part === "idle") {
      const { status, at, receivedAt: received_at, seen } = value as IdleClose;
      const counts = run.closing === undefined && seen === run.batches;
      const idle = { status, finished_at: at, received_at, closed_by: "idle" };
      runs[name] = counts ? { ...run, idle } : run;
    } else if (family === "run" && (part === "opening" || part === "closing")) {
      const text = textOf(value);
      const parts = part === "opening" ? decodeParts(text, null) : decodeParts(null, text);
      // An opening that shares the row of the close was replaced if it has a row of its own.
      if (parts.opening !== null && (part === "opening" || run.opening === undefined)) {
        run.opening = partOf(parts.opening);
      }
      if (parts.closing !== null) run.closing = partOf(parts.closing);
      runs[name] = run;
    } else assert(DERIVED.has(part), `unexpected key ${Deno.inspect(key)}`);
  }
  assertEquals(agentCount, Object.keys(agents).length, "the count of agents");
  const plain = Object.entries(runs).map(([id, { batches: _, ...run }]) => [id, run]);
  return { tier: world.team.tier, runs: Object.fromEntries(plain), agents, usage };
}

function textOf(value: unknown): string {
  return unpackBlob(value as Uint8Array, []);
}

function eventsOf(value: unknown): Event[] {
  return decodeBatch(textOf(value)).events.map((
    { id, type, ts, turn, data, ignored, receivedAt },
  ) => ({
    id,
    type,
    ts,
    data: JSON.parse(data),
    received_at: receivedAt,
    ...(turn === undefined ? {} : { turn }),
    ...(ignored === undefined ? {} : { ignored }),
  }));
}

/** Returns an opening or a close with the field names of the wire, without absent fields. */
function partOf(one: Opening | Closing): Fields {
  const part = one as Opening & Closing;
  const { cost, model, provider, inputTokens, outputTokens, cachedInputTokens } = part.reported ??
    {};
  const fields = {
    kind: part.kind,
    agent: part.agent,
    started_at: part.startedAt,
    status: part.status,
    finished_at: part.finishedAt,
    received_at: part.receivedAt,
    duration_ms: part.durationMs,
    closed_by: part.closedBy,
    customer_id: part.customerId,
    feature: part.feature,
    goal: part.goal,
    idle_timeout_seconds: part.idleTimeoutSeconds,
    idle_timeout_status: part.idleTimeoutStatus,
    metadata: part.metadata,
    note: part.note,
    flags: part.flags,
    // In the order of the call; the model sorts them.
    ignored: part.ignored?.toSorted(),
    output: part.output === undefined ? undefined : JSON.parse(part.output),
    scores: part.scores === undefined ? undefined : Object.fromEntries(part.scores),
    cost_usd: cost === undefined ? undefined : JSON.parse(JSON.stringify(dollars(cost))),
    model,
    provider,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cached_input_tokens: cachedInputTokens,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
