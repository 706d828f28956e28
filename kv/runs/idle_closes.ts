/**
 * Closes runs that are idle, at the deadline that their openings set.
 *
 * @module
 */
import { judgedAt, type Work, type WorkHandler, type WorkTime } from "../../domain/work/work.ts";
import type { RunId } from "../../domain/core/ids.ts";
import { idleCloseOf, idleDeadlineOf, idleTimeoutMsOf } from "../../domain/runs/idle.ts";
import type { EventLedger } from "../../domain/runs/ledger.ts";
import { TRACE_IDLE_SECONDS, withTrace } from "../../domain/runs/trace_facts.ts";
import type { KnownAgents } from "../agents/known_agents.ts";
import { encodeLedger } from "../base/codec_sums.ts";
import { readTeam } from "../teams/credential_rows.ts";
import { keys } from "../base/keys.ts";
import { workKey, workSet } from "../work/store.ts";
import type { Store } from "../store.ts";
import { pendingName, type Write } from "../writer/group.ts";
import { commitUnnoted, useTraceAgent } from "./commit_parts.ts";
import { readDirectory } from "./batches.ts";
import { readHeads, type SummarizedHead } from "./heads.ts";

/** Creates the handler of runs that may be idle. */
export function createIdleHandler(store: Store, known: KnownAgents): WorkHandler {
  return {
    kind: "idle",
    async handle(rows, turn) {
      const [first] = rows;
      if (first === undefined) return [];
      const runs = await readHeads(
        { store, team: first.team },
        rows.map(({ name }) => name as RunId),
      );
      await Promise.all(
        rows.map((row, i) => closeIdleRun(runs[i] as SummarizedHead, row, turn, known)),
      );
      return [];
    },
  };
}

/** A close that loses to another commit is repeated, because its row is still due. */
async function closeIdleRun(
  run: SummarizedHead,
  row: Work,
  turn: WorkTime,
  known: KnownAgents,
): Promise<void> {
  const { store, team, id, head: { parts }, ledger } = run;
  const deadline = parts.closing === null ? idleDeadlineOf(parts.opening, ledger) : null;
  const at = deadline === null ? null : judgedAt(deadline, 0, turn.absences);
  const moved: Write = { team, deletes: [workKey(row)] };
  if (at === null) return void await store.writer.commit(moved);
  if (at > turn.summarizedToMs) {
    // After an absence, events may arrive whose deadline is before the postponed one.
    const timeoutMs = parts.opening === null
      ? 1_000 * TRACE_IDLE_SECONDS
      : idleTimeoutMsOf(parts.opening);
    const nextAt = Math.min(at, turn.nowMs + timeoutMs);
    return void await store.writer.commit({ ...moved, sets: [workSet({ ...row, at: nextAt })] });
  }
  const checks = [
    run.check("opening"),
    run.check("closing"),
    run.check("ledger"),
    run.check("idle"),
  ];
  if (parts.opening === null || parts.opening.isOfTrace === true) {
    return await closeTrace(run, { ...moved, checks }, at, known);
  }
  const close = idleCloseOf(parts.opening, ledger, await lastTsOf(run), at);
  await commitUnnoted(store, {
    ...moved,
    checks,
    sets: [{ key: keys.idle(team, id), value: close }],
    pending: [{ lane: "closed", name: pendingName(team, id) }],
  });
}

/**
 * Closes a run whose trace has no closed root, and gives it the agent that its spans name. A later span
 * opens it again.
 */
async function closeTrace(
  run: SummarizedHead,
  write: Write,
  at: number,
  known: KnownAgents,
): Promise<void> {
  const { store, team, id, ledger } = run;
  const closed = { ...ledger.trace, closedAt: at };
  const agent = await useTraceAgent(run, await readTeam(store, team), known, closed, at);
  const { closedAt: _, ...trace } = agent.trace;
  const after: EventLedger = { ...ledger, trace };
  const opening = withTrace({ opening: null, closing: null }, after).opening;
  const status = trace.status?.status ?? "success";
  const close = opening === null
    ? { status, at: Math.floor(trace.end?.at ?? at), receivedAt: at, seen: ledger.batches }
    : idleCloseOf(opening, after, null, at);
  const { used } = agent;
  const version = await commitUnnoted(store, {
    ...write,
    ...used,
    checks: [...write.checks ?? [], ...used.checks ?? []],
    sets: [
      { key: keys.idle(team, id), value: close },
      { key: keys.ledger(team, id), value: encodeLedger(after) },
      ...used.sets ?? [],
    ],
    deletes: [...write.deletes ?? [], ...used.deletes ?? []],
    pending: [{ lane: "closed", name: pendingName(team, id) }],
  });
  if (version !== null) agent.onUsed();
}

/** Returns the latest `ts` of a run's events, unix milliseconds; null if it has none. */
export async function lastTsOf(run: SummarizedHead): Promise<number | null> {
  const { ledger: { tail, sealed } } = run;
  const sealedPages = sealed === 0 ? [] : await readDirectory(run);
  const spans = [...tail.batches, ...sealedPages];
  return spans.length === 0
    ? null
    : spans.reduce((last, { tsMax }) => Math.max(last, tsMax), -Infinity);
}
