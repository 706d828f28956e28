/**
 * Expected responses of the control API for an aggregated state (decisions, section 6; API
 * document).
 */
import {
  asClosed,
  type Event,
  type Fields,
  instant,
  type Labels,
  type Opening,
  type Run,
  type State,
} from "./shape.ts";
import {
  type Call,
  callOf,
  costOf,
  durationOf,
  eventCall,
  eventCalls,
  priceOf,
  reportedOf,
  saysCost,
  unreadableOf,
} from "./values.ts";

/**
 * Returns `GET /v1/runs/{id}` with all events, without fields that depend on arrival order alone.
 */
export function recordOf(id: string, stored: Run): Fields {
  const run = asClosed(stored);
  const { opening = null, closing = null, events } = run;
  const parts = [opening, closing, ...events].filter((part) => part !== null);
  const arrivals = parts.map(({ received_at }) => received_at);
  const of = (name: string) => closing?.[name] ?? opening?.[name] ?? null;
  return {
    id,
    kind: opening?.kind ?? "run",
    agent: opening?.agent ?? null,
    status: closing?.status ?? "running",
    closed_by: closing && (closing.closed_by ?? "finish"),
    started_at: opening && instant(opening.started_at),
    finished_at: closing && instant(closing.finished_at),
    received_at: instant(opening?.received_at ?? Math.min(...arrivals)),
    updated_at: instant(Math.max(...arrivals)),
    duration_ms: durationOf(run),
    flags: flagsOf(run),
    ignored: ignoredOf(run),
    customer_id: of("customer_id"),
    feature: of("feature"),
    metadata: labelsOf(run),
    goal: of("goal"),
    output: of("output"),
    note: of("note"),
    cost_usd: costOf(run) / 1e12,
    cost: {
      state: closing === null ? "pending" : "final",
      unpriced_models: unpricedModels(run),
      flags: cachedExceedsInput(run) ? ["cached_exceeds_input"] : [],
    },
    cost_with_children_usd: costOf(run) / 1e12,
    usage: usageOf(run),
    scores: scoresOf(run),
    // A stable sort: events of one instant stay in the order of their arrival.
    events: events.toSorted((a, b) => a.ts - b.ts).map(eventJson),
    events_cursor: null,
    checks: [],
    judge_results: [],
    incidents: [],
    links: { parent: null, children: [] },
    processing: closing === null
      ? []
      : ["cost done", "checks skipped", "alerts skipped", "judge skipped"],
  };
}

function eventJson(event: Event): Fields {
  const { received_at, ts, ...fields } = event;
  const names = unreadableOf(event);
  const readable = names.length === 0 ? fields : { ...fields, unreadable: names };
  const call = eventCall(event);
  const price = call && priceOf(call);
  const cost = call === null ? {} : { cost_usd: (price ?? 0) / 1e12, is_priced: price !== null };
  return { ...readable, ts: instant(ts), received_at: instant(received_at), ...cost };
}

/** Returns the scores of the close, then those of events, by arrival (R17). */
function scoresOf({ closing, events }: Run): Fields[] {
  const own = Object.entries((closing?.scores ?? {}) as Fields);
  const valid = events.filter(({ type, data: { name, value } }) =>
    type === "score" && typeof name === "string" && name !== "" &&
    (typeof value === "number" || typeof value === "boolean")
  );
  return [
    ...own.map(([name, value]) => ({ name, value, source: "self" })),
    ...valid.toSorted((a, b) => a.received_at - b.received_at || (a.id < b.id ? -1 : 1))
      .map(({ id, data: { name, value }, received_at }) => ({
        name,
        value,
        source: "event",
        id,
        received_at: instant(received_at),
      })),
  ];
}

/** Returns the names of unknown fields; undefined for none (R25). */
function ignoredOf({ opening, closing }: Run): string[] | undefined {
  const names = [opening, closing].flatMap((part) => (part?.ignored ?? []) as string[]);
  return names.length === 0 ? undefined : [...new Set(names)].sort();
}

function flagsOf({ opening, closing, events }: Run): string[] {
  const flags = [opening, closing].flatMap((part) => (part?.flags ?? []) as string[]);
  if (events.some((event) => eventCall(event)?.isCounted === false)) flags.push("no_tokens");
  if (events.some((event) => unreadableOf(event).length > 0)) flags.push("unreadable_figures");
  if (events.some(({ ignored }) => ignored !== undefined)) flags.push("ignored_fields");
  if (opening === undefined) flags.push("no_opening");
  else {
    if (isFuture(opening)) flags.push("future_start");
    if (closing !== undefined && closing.finished_at < opening.started_at) {
      flags.push("negative_duration");
    }
  }
  return [...new Set(flags)].sort();
}

/** Returns true if a run claims to start more than a day after its arrival (R14). */
function isFuture({ started_at, received_at }: Opening): boolean {
  return started_at - received_at > 86_400_000;
}

function sortedAt({ opening }: Run): number {
  if (opening === undefined) return 0;
  return isFuture(opening) ? opening.received_at : opening.started_at;
}

/** Each key keeps its position, and the close's values win. */
function labelsOf({ opening, closing }: Run): Fields | null {
  const [opened = null, closed = null] = [opening?.metadata, closing?.metadata] as Labels[];
  if (opened === null && closed === null) return null;
  return Object.fromEntries([...opened ?? [], ...closed ?? []]);
}

/** Returns a heartbeat's own call, if it names a model and its usage or cost. */
function ownCall(run: Run): Call | null {
  const reported = reportedOf(run);
  const call = callOf(reported);
  const isReported = call.isCounted || reported.cost_usd !== undefined;
  return call.model !== null && isReported ? call : null;
}

/** Returns calls that should have a price and have none. */
function unpricedOf(run: Run): Call[] {
  if (reportedOf(run).cost_usd !== undefined) return [];
  const own = ownCall(run);
  return [...saysCost(run) ? [] : eventCalls(run), ...own === null ? [] : [own]]
    .filter((call) => call.model !== null && call.isCounted && priceOf(call) === null);
}

/** Returns the models without a price, sorted. */
export function unpricedModels(run: Run) {
  return [...new Set(unpricedOf(run).map(({ model }) => model))].sort();
}

function cachedExceedsInput(run: Run): boolean {
  return [...eventCalls(run), callOf(reportedOf(run))].some(({ cached, input }) => cached > input);
}

export function failedEvents({ events }: Pick<Run, "events">): Event[] {
  return events.filter(({ type, data: { status, error = null } }) =>
    type === "error" || status === "error" || !(error === null || error === false || error === "")
  );
}

export function usageOf(run: Run) {
  const { events } = run;
  const count = (wanted: string) => events.filter(({ type }) => type === wanted).length;
  return {
    events: events.length,
    // The call that a heartbeat reports is a model call, and no event (R38).
    llm_calls: count("llm_call") + (ownCall(run) === null ? 0 : 1),
    tool_calls: count("tool_call"),
    logs: count("log"),
    errors: failedEvents(run).length,
    ...tokensOf([...eventCalls(run), callOf(reportedOf(run))]),
  };
}

function tokensOf(calls: readonly Call[]) {
  const sum = (kind: "input" | "output" | "cached") => calls.reduce((n, call) => n + call[kind], 0);
  return {
    input_tokens: sum("input"),
    output_tokens: sum("output"),
    cached_input_tokens: sum("cached"),
  };
}

function measuresOf(runs: readonly Run[]) {
  const calls = runs.flatMap((run) => [...eventCalls(run), callOf(reportedOf(run))]);
  const unpriced = runs.flatMap(unpricedOf);
  const cost = runs.reduce((sum, run) => sum + costOf(run), 0);
  const succeeded = runs.filter(({ closing }) => closing?.status === "success").length;
  const callCount = runs.reduce((sum, run) => sum + usageOf(run).llm_calls, 0);
  return {
    runs: runs.length,
    successful_runs: succeeded,
    cost_usd: cost / 1e12,
    cost_per_successful_run: succeeded === 0 ? null : Math.round(cost / succeeded) / 1e12,
    events: runs.reduce((sum, { events }) => sum + events.length, 0),
    llm_calls: callCount,
    ...tokensOf(calls),
    unpriced: { llm_calls: unpriced.length, ...tokensOf(unpriced) },
  };
}

/**
 * Returns the totals of `GET /v1/spend` and its groups by key; runs without an opening are
 * excluded.
 */
export function spendOf(state: State, groupBy: "agent" | "status" | "customer") {
  const runs = Object.values(state.runs).map(asClosed)
    .filter(({ opening }) => opening !== undefined);
  const keyOf = (run: Run): string => {
    const { opening, closing } = run;
    if (groupBy === "agent") return String(opening?.agent);
    if (groupBy === "status") return closing?.status ?? "running";
    return String(closing?.customer_id ?? opening?.customer_id ?? "(unattributed)");
  };
  const groups = Map.groupBy(runs, keyOf);
  const rows = [...groups].map(([key, group]) => ({ key, ...measuresOf(group) }));
  return {
    totals: measuresOf(runs),
    groups: rows.sort((a, b) => b.cost_usd - a.cost_usd || (a.key < b.key ? -1 : 1)),
  };
}

/** Returns the items of `GET /v1/agents`: the last seen first. */
export function agentsOf(state: State) {
  const items = Object.entries(state.agents).map(([agent, first]) => {
    const runs = Object.entries(state.runs).filter(([, { opening }]) => opening?.agent === agent);
    const count = (status: string) =>
      runs.filter(([, run]) => (asClosed(run).closing?.status ?? "running") === status).length;
    const seen = runs.flatMap(([, { opening, closing }]) =>
      [opening, closing].map((part) => part?.received_at ?? 0)
    );
    // Ids sort as text; of runs that started at one instant, the greatest id is the last.
    const [last, run] = runs.toSorted(([a, x], [b, y]) =>
      sortedAt(x) - sortedAt(y) || (a < b ? -1 : 1)
    ).at(-1) ?? ["", { events: [] }];
    return {
      agent,
      name: agent,
      first_seen: instant(first),
      last_seen: instant(Math.max(...seen)),
      runs: runs.length,
      succeeded: count("success"),
      failed: count("failed"),
      running: count("running"),
      last_run_id: last,
      last_status: asClosed(run).closing?.status ?? "running",
      last_started_at: instant(run.opening?.started_at ?? 0),
      notes: null,
      archived: false,
    };
  });
  return items.sort((a, b) =>
    a.last_seen === b.last_seen
      ? (a.agent < b.agent ? -1 : 1)
      : (a.last_seen < b.last_seen ? 1 : -1)
  );
}

/** Returns the months of `GET /v1/usage`, the latest first. */
export function monthsOf({ usage }: State) {
  const months = Object.entries(usage).sort(([a], [b]) => a < b ? 1 : -1);
  return months.map(([month, used]) => ({ month, used, state: "normal" }));
}
