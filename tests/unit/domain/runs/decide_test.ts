/** The contract's state table (contract 6) as data: state × call → response and writes. */
import { assert, assertEquals } from "@std/assert";
import {
  decideFinish,
  decideHeartbeat,
  decideOpen,
  type Decision,
  type HeartbeatRequest,
  type OpenRequest,
} from "../../../../domain/runs/decide.ts";
import type { RunId } from "../../../../domain/core/ids.ts";
import type { Closing, HeartbeatStatus, Opening, RunParts } from "../../../../domain/runs/run.ts";
import { runId } from "../../../support/builders/requests.ts";
import { NO_CARD } from "../../../support/builders/cards.ts";

const ID = runId(1) as RunId;
const START = 1_000, END = 5_000, NOW = 9_000;

const run: Opening = { kind: "run", agent: "a", startedAt: START, receivedAt: 1 };
const beat: Opening = { kind: "heartbeat", agent: "a", startedAt: START, receivedAt: 1 };
const closed: Closing = { status: "failed", finishedAt: END, receivedAt: 2 };

/** Every state of a run. */
const STATES = {
  "nothing": { opening: null, closing: null },
  "open run": { opening: run, closing: null },
  "started": { opening: beat, closing: null },
  "finish first": { opening: null, closing: closed },
  "finished run": { opening: run, closing: closed },
  "closed heartbeat": { opening: beat, closing: closed },
} as const satisfies Record<string, RunParts>;

type Call = (stored: RunParts) => Decision;

/** Every call, with its variants that may conflict. */
const CALLS = {
  "open": open({}),
  "open, other agent": open({ agent: "b" }),
  "open, other start": open({ startedAt: START + 1 }),
  "open, both other": open({ agent: "b", startedAt: START + 1 }),
  "finish": (stored) => decideFinish(stored, { status: "cancelled", finishedAt: END + 1 }, NOW),
  "start": heartbeat("start", { startedAt: START }),
  "ok": heartbeat("ok", { startedAt: START }),
  "ok, no start sent": heartbeat("ok", {}),
  "timeout": heartbeat("timeout", {}),
  "ok, other agent": heartbeat("ok", { agent: "b" }),
  "ok, other start": heartbeat("ok", { startedAt: START + 1 }),
  "start, other start": heartbeat("start", { startedAt: START + 1 }),
} as const satisfies Record<string, Call>;

function open(fields: Partial<OpenRequest>): Call {
  const request = { id: ID, agent: "a", startedAt: START, ...fields };
  return (stored) => decideOpen(stored, request, NOW);
}

function heartbeat(status: HeartbeatStatus, fields: Partial<HeartbeatRequest>): Call {
  const request = { id: ID, agent: "a", status, reported: {}, ...fields };
  return (stored) => decideHeartbeat(stored, request, NOW, NO_CARD);
}

/** `+opening` and `+closing` are stored; a state that is not listed gives `otherwise`. */
const TABLE: Record<keyof typeof CALLS, Partial<Record<keyof typeof STATES, string>>> = {
  "open": row("+opening", "replayed", "replayed", "+opening", "replayed", "replayed"),
  "open, other agent": conflicts("agent", "+opening"),
  "open, other start": conflicts("started_at", "+opening"),
  "open, both other": conflicts("agent", "+opening"),
  "finish": row("+closing", "+closing", "+closing", "replayed", "replayed", "replayed"),
  "start": row("+opening", "replayed", "replayed", "+opening", "replayed", "replayed"),
  "ok": row("+opening +closing", "+closing", "+closing", "+opening", "replayed", "replayed"),
  "ok, no start sent": row(
    "+opening +closing",
    "+closing",
    "+closing",
    "+opening",
    "replayed",
    "replayed",
  ),
  "timeout": row("+opening +closing", "+closing", "+closing", "+opening", "replayed", "replayed"),
  "ok, other agent": conflicts("agent", "+opening +closing"),
  "ok, other start": conflicts("started_at", "+opening +closing"),
  "start, other start": conflicts("started_at", "+opening"),
};

function row(...answers: [string, string, string, string, string, string]) {
  return Object.fromEntries(Object.keys(STATES).map((state, i) => [state, answers[i] ?? ""]));
}

function conflicts(field: string, first: string) {
  const conflict = `conflict ${field}`;
  return row(first, conflict, conflict, "+opening", conflict, conflict);
}

for (const [callName, call] of Object.entries(CALLS)) {
  for (const [stateName, state] of Object.entries(STATES)) {
    const expected = TABLE[callName as keyof typeof CALLS][stateName as keyof typeof STATES];
    Deno.test(`states and decisions 14-27: ${callName} on ${stateName}: ${expected}`, () => {
      assertEquals(summary(call(state)), expected);
      checkPromise(callName, state, call(state));
    });
  }
}

function summary({ outcome, opening, closing }: Decision): string {
  if (outcome.kind === "conflict") return `conflict ${outcome.field}`;
  if (outcome.kind === "replayed") return "replayed";
  return [opening && "+opening", closing && "+closing"].filter(Boolean).join(" ");
}

/**
 * Checks that the response matches the stored parts: parts are only added, and returned exactly as
 * written. A call that only opens returns `running`, also after a close (contract 2).
 */
function checkPromise(callName: string, stored: RunParts, decision: Decision): void {
  const { outcome, opening, closing } = decision;
  if (outcome.kind === "conflict") return;
  const opensOnly = opening !== undefined && /^(open|start)/.test(callName);
  assertEquals(outcome.parts, {
    opening: opening ?? stored.opening ?? null,
    closing: opensOnly ? null : stored.closing ?? closing ?? null,
  });
}

Deno.test("decision 28: each heartbeat status closes with its run status", () => {
  const words = (["ok", "fail", "timeout"] as const).map((status) =>
    heartbeat(status, {})(STATES.nothing).closing?.status
  );
  assertEquals(words, ["success", "failed", "timeout"]);
});

Deno.test("contract 5: start and end default to the arrival time", () => {
  const { opening, closing } = heartbeat("ok", {})(STATES.nothing);
  assertEquals([opening?.startedAt, closing?.finishedAt], [NOW, NOW]);
  assertEquals([opening?.receivedAt, closing?.receivedAt], [NOW, NOW]);
});

Deno.test("decision 25: details are stored with the close, or with the opening if no close is written", () => {
  const input = { reported: { cost: 7n }, metadata: [["k", 1]] as const, output: undefined };
  const both = heartbeat("ok", input)(STATES.nothing);
  assertEquals([both.opening?.reported, both.closing?.reported], [undefined, { cost: 7n }]);
  const started = heartbeat("start", input)(STATES.nothing);
  assertEquals([started.opening?.reported, started.opening?.metadata], [{ cost: 7n }, [["k", 1]]]);
  const late = heartbeat("ok", input)(STATES["finish first"]);
  assertEquals(late.opening?.reported, { cost: 7n });
});

Deno.test("R34: the close of a run that POST /v1/runs opened stores no cost and no tokens", () => {
  const input = { reported: { cost: 7n, inputTokens: 1 }, note: "done" };
  const { closing } = heartbeat("ok", input)(STATES["open run"]);
  assertEquals([closing?.reported, closing?.note], [undefined, "done"]);
  const own = heartbeat("ok", input)(STATES.started).closing;
  assertEquals([own?.reported, own?.note], [input.reported, "done"]);
});

Deno.test("contract 6: a start never closes a run, whatever it carries", () => {
  for (const state of Object.values(STATES)) {
    assertEquals(heartbeat("start", { finishedAt: END })(state).closing, undefined);
  }
});

Deno.test("the opening of a run stores no id, because its key has it", () => {
  const { opening } = open({ customerId: "c" })(STATES.nothing);
  assert(opening !== undefined && !("id" in opening));
  assertEquals([opening.kind, opening.agent, opening.startedAt], ["run", "a", START]);
  assertEquals([opening.receivedAt, opening.customerId], [NOW, "c"]);
});
