/**
 * The contract as one pure function from a call to its response and the new state.
 *
 * Written from the contract (contract 6) and decisions 11 to 38; imports nothing from the service.
 * Where the two differ, one of them is wrong.
 */
import { normalized } from "./lenient.ts";
import { afterPing, judgeMonitors } from "./monitor_state.ts";
import { statusOfPing, withPing } from "./pings.ts";
import { charsOf, parseInstant, problemOf } from "./rules.ts";
import {
  type Absence,
  type Answer,
  asClosed,
  type Closing,
  type Fields,
  instant,
  type Labels,
  pick,
  type Request,
  type Run,
  type State,
  TIERS,
} from "./shape.ts";
import { costOf, durationOf, REPORTED, reportedCost } from "./values.ts";

/** Run statuses by heartbeat status (decision 28). */
const RUN_STATUSES: Readonly<Record<string, string>> = {
  ok: "success",
  fail: "failed",
  timeout: "timeout",
  start: "running",
};

const NOTHING: Run = { events: [] };

/** Milliseconds that deadlines are handled late, so that calls in progress count. */
const LATE_MS = 2_000;

/** Longest absence whose length is added to a postponed deadline, in milliseconds. */
const POSTPONE_MS_MAX = 900_000;

/**
 * Passes all deadlines at an instant of the server's clock: closes the runs that are idle
 * (decisions 51 and 112), and judges monitors (decision 110).
 */
export function passDeadlines(state: State, now: number, absences: readonly Absence[]): State {
  const runs = Object.entries(state.runs).map(([id, run]) => {
    const { opening, closing, idle, events } = run;
    const seconds = Number(opening?.idle_timeout_seconds ?? 0);
    if (!opening || seconds === 0 || closing !== undefined || idle !== undefined) return [id, run];
    const arrivals = events.map(({ received_at }) => received_at);
    const quietSince = Math.max(opening.received_at, ...arrivals);
    const deadline = postponed(quietSince + seconds * 1_000, absences);
    if (deadline > now - LATE_MS) return [id, run];
    const status = String(opening.idle_timeout_status ?? "timeout");
    const last = Math.max(...events.map(({ ts }) => ts));
    const finished_at = events.length === 0 ? opening.started_at : last;
    return [id, {
      ...run,
      idle: { status, finished_at, received_at: deadline, closed_by: "idle" },
    }];
  });
  const closed = { ...state, runs: Object.fromEntries(runs) };
  return judgeMonitors(closed, now - LATE_MS, absences);
}

/** Returns when a deadline is judged: later, if nothing could be heard when it passed. */
function postponed(deadline: number, absences: readonly Absence[]): number {
  return absences.reduce((at, { fromMs, untilMs }) => {
    const isInside = at >= fromMs && at < untilMs;
    return isInside ? untilMs + Math.min(untilMs - fromMs, POSTPONE_MS_MAX) : at;
  }, deadline);
}

/** Executes one call at an instant of the server's clock. */
export function step(state: State, request: Request, now: number): [State, Answer] {
  const [next, answer] = decide(state, request, now);
  if (request.call !== "ping") return [next, answer];
  const { error, ...body } = answer.body;
  // A refused ping gets one line of text without a field.
  return [next, { ...answer, body: error ? { error } : request.isPlain ? {} : body }];
}

function decide(state: State, sent: Request, now: number): [State, Answer] {
  const { request, dropped: lost, ignored, flags } = normalized(sent);
  const problem = problemOf(request);
  if (problem !== null) {
    const { closing } = state.runs[request.id ?? ""] ?? NOTHING;
    if (sent.call !== "finish" || closing === undefined) {
      return [state, refused(400, problem.error, problem.field)];
    }
    // A further finish may say anything (R35).
    const body = finishBody(String(request.id), closing);
    return [state, { status: 200, body, replayed: true, dropped: {}, ignored: [] }];
  }
  const { call, fields } = request;
  const id = request.id ?? request.minted ?? String(fields.id);
  const run = state.runs[id] ?? NOTHING;
  if (call === "events") {
    const [next, answer] = append(state, id, run, fields.events as Fields[], now);
    return [next, { ...answer, dropped: lost, ignored }];
  }
  // A ping without an id has no start of its own if it belongs to a run (R23).
  const isChecked = call !== "finish" && request.minted === undefined;
  const other = isChecked ? mismatch(run, fields) : null;
  if (other !== null) return [state, refused(409, "id_conflict", other)];
  const [labels, labelsDropped, isCut] = keptLabels(request, TIERS[state.tier].labels);
  const isBeat = call === "heartbeat" || call === "ping";
  const dropped = {
    ...lost,
    ...labelsDropped > 0 ? { metadata: labelsDropped } : {},
    ...isBeat && run.opening?.kind === "run" ? uncounted(fields) : {},
  };
  const allFlags = isCut ? [...flags, "truncated"] : flags;
  const flagged = {
    ...allFlags.length > 0 ? { flags: [...new Set(allFlags)] } : {},
    ...ignored.length > 0 ? { ignored } : {},
  };
  const stored = { ...fields, metadata: undefined, ...labels, ...flagged };
  const [parts, body] = DECIDE[call](id, run, stored, now);
  const monitored = (next: State) =>
    call === "ping" ? afterPing(next, id, sent.fields, parts !== null, now) : next;
  if (parts === null) {
    return [monitored(state), { status: 200, body, replayed: true, dropped, ignored }];
  }
  const { idle = null, ...others } = run;
  const kept = idle === null || parts.closing !== undefined ? others : run;
  const next = store(state, id, { ...kept, ...parts }, 1, now);
  if (next === null) return [state, refused(403, "agent_cap_reached", "agent")];
  const status = call === "ping" ? 200 : 202;
  const noted = withPing(next, sent, id, now);
  return [monitored(noted), { status, body, replayed: false, dropped, ignored }];
}

/** Returns the parts to write, or null for none, and the response body. */
type Decide = (id: string, run: Run, sent: Fields, now: number) => [Partial<Run> | null, Fields];

const DECIDE: Readonly<Record<Exclude<Request["call"], "events">, Decide>> = {
  open(id, run, sent, now) {
    const names = ["goal", "parent_run_id", "idle_timeout_seconds", "idle_timeout_status"];
    const labels = pick(sent, "customer_id", "feature", "metadata", "flags", "ignored", ...names);
    const isNew = run.opening === undefined;
    const opening = run.opening ?? { kind: "run" as const, ...startOf(sent, now), ...labels };
    const { agent, started_at, received_at } = opening;
    const times = { started_at: instant(started_at), received_at: instant(received_at) };
    // The response to a first opening says `running`, even if the finish came before (decisions 15
    // and 16).
    const status = isNew ? "running" : asClosed(run).closing?.status ?? "running";
    return [isNew ? { opening } : null, { id, agent, ...times, status }];
  },
  finish(id, run, sent, now) {
    const details = pick(sent, "output", "scores", "metadata", "flags", "ignored");
    const closing = run.closing ?? { ...endOf(String(sent.status), sent, now), ...details };
    return [run.closing ? null : { closing }, finishBody(id, closing)];
  },
  heartbeat(id, run, sent, now) {
    const status = RUN_STATUSES[String(sent.status ?? "ok")] ?? "";
    const labels = ["customer_id", "feature", "metadata", "output", "note", "flags", "ignored"];
    const isFull = run.opening?.kind === "run";
    const reported = pick(sent, ...isFull ? [] : REPORTED, ...labels);
    const start = run.opening
      ? null
      : { kind: "heartbeat" as const, ...startOf(sent, now, status) };
    if (status !== "running" && !run.closing) {
      const closing = {
        ...{ ...endOf(status, sent, now), closed_by: "heartbeat" },
        ...{ ...pick(sent, "duration_ms"), ...reported },
      };
      const parts = start === null ? { closing } : { opening: start, closing };
      return [parts, heartbeatBody(id, { ...run, ...parts })];
    }
    if (start === null) return [null, heartbeatBody(id, asClosed(run))];
    const opening = { ...start, ...reported };
    // The response to a `start` covers the start alone (decision 29).
    const visible = status === "running" ? { ...NOTHING, opening } : { ...run, opening };
    return [{ opening }, heartbeatBody(id, visible)];
  },
  ping(id, run, sent, now) {
    const heartbeat = { ...sent, status: statusOfPing(sent) };
    const [parts, body] = DECIDE.heartbeat(id, run, heartbeat, now);
    return [parts, pick(body, "id", "agent", "status", "received_at", "cost_usd")];
  },
};

/** Appends each event once; known ids count as duplicates, with any content (decisions 20, 21). */
function append(state: State, id: string, run: Run, sent: readonly Fields[], now: number) {
  const events = new Map(run.events.map((event) => [event.id, event]));
  for (const { id, external_id, type, ts, data, turn, ignored } of sent) {
    const name = String(id ?? external_id);
    const fields = {
      id: name,
      type: String(type),
      data: data as Fields,
      ...pick({ turn, ignored }, "turn", "ignored"),
    };
    const event = { ...fields, ts: parseInstant(ts) ?? 0, received_at: now };
    if (!events.has(name)) events.set(name, event);
  }
  const accepted = events.size - run.events.length;
  const body = { accepted, duplicates: sent.length - accepted };
  const answer: Answer = { status: 202, body, replayed: false, dropped: {}, ignored: [] };
  // An event reopens a run that was idle.
  const { idle: _, ...open } = run;
  const stored = { ...open, events: [...events.values()] };
  const next = accepted === 0 ? state : store(state, id, stored, accepted, now) ?? state;
  return [next, answer] satisfies [State, Answer];
}

/** Stores a run and counts it in the month of the server's clock; null at the agent cap. */
function store(state: State, id: string, run: Run, count: number, now: number): State | null {
  const month = instant(now).slice(0, 7);
  const usage = { ...state.usage, [month]: (state.usage[month] ?? 0) + count };
  const runs = { ...state.runs, [id]: run };
  const agent = run.opening?.agent ?? null;
  if (agent === null || agent in state.agents) return { ...state, runs, usage };
  if (Object.keys(state.agents).length >= TIERS[state.tier].agents) return null;
  return { ...state, runs, usage, agents: { ...state.agents, [agent]: now } };
}

/** Returns the first immutable field that differs; only sent fields are compared. */
function mismatch({ opening }: Run, { agent, started_at = null }: Fields): string | null {
  if (opening === undefined) return null;
  if (agent !== opening.agent) return "agent";
  return started_at === null || parseInstant(started_at) === opening.started_at
    ? null
    : "started_at";
}

/**
 * Returns the metadata that the plan keeps, and the number of dropped entries; a ping's dropped
 * entries count as one (decision 38, R7).
 */
function keptLabels(
  { call, fields: { metadata = null } }: Request,
  max: number,
): [Fields, number, isCut?: boolean] {
  if (metadata === null) return [{}, 0];
  if (call === "ping") {
    if (max === 0) return [{}, 1];
    const isCut = charsOf(String(metadata)) > 256;
    return [{ note: [...String(metadata)].slice(0, 256).join("") }, isCut ? 1 : 0, isCut];
  }
  const sent = metadata as Labels;
  const kept = sent.filter(([key, value]) => charsOf(key) <= 20 && isLabel(value)).slice(0, max);
  return [{ metadata: kept }, sent.length - kept.length];
}

function isLabel(value: unknown): boolean {
  if (value === null || typeof value === "object") return false;
  return charsOf(String(value)) <= 50;
}

function refused(status: number, error: string, field: string): Answer {
  return { status, body: { error, field }, replayed: false, dropped: {}, ignored: [] };
}

/** @param status status of a heartbeat, whose start may follow from its duration (R26) */
function startOf(sent: Fields, now: number, status = "running") {
  const sentAt = parseInstant(sent.started_at);
  const isShort = status !== "running" && Number(sent.duration_ms) <= 31 * 86_400_000;
  const duration = isShort ? sent.duration_ms ?? null : null;
  const derived = Math.max(0, (parseInstant(sent.finished_at) ?? now) - Number(duration));
  const started_at = sentAt ?? (duration === null ? now : derived);
  return { agent: String(sent.agent), started_at, received_at: now };
}

function endOf(status: string, sent: Fields, now: number): Closing {
  return { status, finished_at: parseInstant(sent.finished_at) ?? now, received_at: now };
}

function finishBody(id: string, closing: Closing): Fields {
  const { status, finished_at, received_at, output = null, scores = null } = closing as
    & Closing
    & Fields;
  const times = { finished_at: instant(finished_at), received_at: instant(received_at) };
  return { id, status, ...times, output, scores };
}

/** Returns a count of each field of a heartbeat that a full run ignores (R34, pricing rule 4). */
function uncounted(fields: Fields): Record<string, number> {
  const names = ["cost_usd", "input_tokens", "output_tokens", "cached_input_tokens"];
  const sent = names.filter((name) => (fields[name] ?? null) !== null);
  return Object.fromEntries(sent.map((name) => [name, 1]));
}

/** Returns a run in the form of a heartbeat (decisions 28 to 30); one that was cancelled failed (R37). */
function heartbeatBody(id: string, run: Run): Fields {
  const { opening, closing } = run;
  if (opening === undefined) throw new TypeError("A stored heartbeat has no opening");
  const word = Object.keys(RUN_STATUSES).find((word) => RUN_STATUSES[word] === closing?.status);
  return {
    id,
    agent: opening.agent,
    status: closing === undefined ? "start" : word ?? "fail",
    started_at: instant(opening.started_at),
    finished_at: closing === undefined ? null : instant(closing.finished_at),
    received_at: instant((closing ?? opening).received_at),
    cost_usd: closing === undefined ? 0 : answeredCost(run) / 1e12,
    duration_ms: durationOf(run),
  };
}

/** A heartbeat answers what heartbeats report, but on a full run what the run costs (R34). */
function answeredCost(run: Run): number {
  return run.opening?.kind === "run" ? costOf(run) : reportedCost(run);
}
