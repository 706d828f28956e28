/** Calls that clients send to one run, and the information in their responses. */
import type { FinishStatus } from "../../../domain/runs/run.ts";
import { eventId, runId } from "../../support/builders/requests.ts";
import { STATUSES, type View, viewOf } from "./view.ts";

/** An event of a batch: a model call, so that it has a cost. */
export interface Item {
  /** Number of the event: a run has few, so that batches share them. */
  readonly event: number;
  readonly tokens: number;
}

/** Status by which a heartbeat ends a run. */
export type Ending = "ok" | "fail" | "timeout";

/** A call. Everything that it stores includes its number `by`; a client may resend it. */
export type Call =
  & {
    /** Number of the call among those to its run. */
    readonly by: number;
    /** True if a part of the call is invalid, so that the service must refuse it. */
    readonly flawed: boolean;
  }
  & (
    | { readonly kind: "open"; readonly agent: string; readonly startedAt: string }
    | Beat & { readonly kind: "start" }
    | Beat & { readonly kind: "beat" | "ping"; readonly ending: Ending }
    | { readonly kind: "finish"; readonly status: FinishStatus }
    | { readonly kind: "events"; readonly items: readonly Item[] }
    | { readonly kind: "read" }
  );

interface Beat {
  readonly agent: string;
  readonly startedAt: string | null;
  readonly costUsd: number | null;
}

/** State of the run in the response to a write; absent fields were not returned. */
export interface Reported {
  readonly agent?: string;
  readonly startedAt?: string;
  readonly status?: string;
  /** The call that closed the run; null for a ping, which has no output. */
  readonly closedBy?: number | null;
}

/** Outcome of a call, as its client knows it. */
export type Outcome =
  /** No response, or one that says the outcome is unknown. */
  | { readonly kind: "unknown" }
  /** 202, or 200 as a replay. */
  | { readonly kind: "first" | "again"; readonly reported: Reported }
  | { readonly kind: "appended"; readonly accepted: number; readonly duplicates: number }
  | { readonly kind: "conflict"; readonly field: string }
  | { readonly kind: "refused" }
  | { readonly kind: "seen"; readonly view: View }
  /** A response that no call may get. */
  | { readonly kind: "strange"; readonly why: string };

/** A response that says the call is stored now, or was stored before. */
export type Written = Extract<Outcome, { readonly kind: "first" | "again" }>;

/** A call that a client sent, with the interval in which it took effect, if it did. */
export interface Operation {
  readonly call: Call;
  /** Milliseconds of one clock for all clients. */
  readonly beginMs: number;
  readonly endMs: number;
  readonly outcome: Outcome;
}

export function requestOf(run: number, call: Call): { path: string; body: unknown | null } {
  const id = runId(run);
  switch (call.kind) {
    case "read":
      return { path: `/v1/runs/${id}?events_limit=1000`, body: null };
    case "open":
      return { path: "/v1/runs", body: openBody(id, call) };
    case "finish":
      return {
        path: `/v1/runs/${id}/finish`,
        body: {
          status: call.flawed ? "done" : call.status,
          finished_at: new Date(call.by).toISOString(),
          output: { by: call.by },
        },
      };
    case "events":
      return { path: `/v1/runs/${id}/events`, body: { events: eventBodies(call) } };
    case "ping":
      return { path: `/v1/ping?${pingQuery(id, call)}`, body: null };
    case "start":
      return {
        path: "/v1/heartbeats",
        body: { ...beatBody(id, call), status: "start", metadata: { opened_by: call.by } },
      };
    case "beat":
      return {
        path: "/v1/heartbeats",
        body: {
          ...beatBody(id, call),
          status: call.ending,
          metadata: { beat_by: call.by },
          output: { by: call.by },
        },
      };
  }
}

function openBody(id: string, { by, flawed, agent, startedAt }: Call & { kind: "open" }) {
  const metadata = { opened_by: by };
  return { id, agent, started_at: flawed ? "yesterday" : startedAt, metadata };
}

function beatBody(id: string, { flawed, agent, startedAt, costUsd }: Call & Beat) {
  return { id, agent, started_at: startedAt, cost_usd: flawed ? -1 : costUsd };
}

function pingQuery(id: string, call: Call & { kind: "ping" | "beat" }): URLSearchParams {
  const { agent, started_at, cost_usd } = beatBody(id, call);
  return new URLSearchParams({
    id,
    agent,
    status: call.ending,
    started_at: started_at ?? "",
    cost_usd: cost_usd === null ? "" : String(cost_usd),
    metadata: String(call.by),
  });
}

/** The last event of a flawed batch has no type; the events before it must not be stored. */
function eventBodies({ by, flawed, items }: Call & { kind: "events" }) {
  return items.map(({ event, tokens }, item) => ({
    id: eventId(event),
    ...(flawed && item === items.length - 1 ? {} : { type: "llm_call" }),
    ts: new Date(by).toISOString(),
    data: { by, item, provider: "openai", model: "gpt-4o", input_tokens: tokens },
  }));
}

/** Reads the response to a call. */
export function outcomeOf(
  call: Call,
  { status, headers }: Pick<Response, "status" | "headers">,
  text: string,
): Outcome {
  const strange = (): Outcome => ({ kind: "strange", why: `was answered ${status} ${text}` });
  if (status === 503) return { kind: "unknown" };
  if (status === 400) return { kind: "refused" };
  if (call.kind === "read") {
    if (status === 404) return { kind: "seen", view: viewOf(null) };
    return status === 200 ? { kind: "seen", view: viewOf(JSON.parse(text)) } : strange();
  }
  if (status === 409) {
    const field = /"(agent|started_at)"/.exec(text)?.[1];
    return field === undefined ? strange() : { kind: "conflict", field };
  }
  if (status !== 200 && status !== 202) return strange();
  if (call.kind === "events") {
    const { accepted, duplicates } = JSON.parse(text);
    return status === 202 ? { kind: "appended", accepted, duplicates } : strange();
  }
  const again = headers.get("Idempotent-Replayed") === "true";
  if (call.kind === "ping") return { kind: again ? "again" : "first", reported: {} };
  // The header and the status must agree.
  if (again !== (status === 200)) return strange();
  return { kind: again ? "again" : "first", reported: reportedBy(call, JSON.parse(text)) };
}

// deno-lint-ignore no-explicit-any -- a response body
function reportedBy(call: Call, body: any): Reported {
  if (call.kind === "finish") {
    return { status: body.status, closedBy: body.output?.by ?? null };
  }
  const statuses: Record<string, string> = { ...STATUSES, start: "running" };
  const status = call.kind === "open" ? body.status : statuses[body.status];
  return { agent: body.agent, startedAt: body.started_at, status };
}
