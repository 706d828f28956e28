/**
 * Closes runs that are idle, at the deadline that their openings set.
 *
 * @module
 */
import { judgedAt, type Work, type WorkHandler, type WorkTime } from "../../domain/work/work.ts";
import type { RunId } from "../../domain/core/ids.ts";
import { idleCloseOf, idleDeadlineOf, idleTimeoutMsOf } from "../../domain/runs/idle.ts";
import type { Opening } from "../../domain/runs/run.ts";
import { keys } from "../base/keys.ts";
import { workKey, workSet } from "../work/store.ts";
import type { Store } from "../store.ts";
import { pendingName, type Write } from "../writer/group.ts";
import { commitUnnoted } from "./commit_parts.ts";
import { readDirectory } from "./batches.ts";
import { readHeads, type SummarizedHead } from "./heads.ts";

/** Creates the handler of runs that may be idle. */
export function createIdleHandler(store: Store): WorkHandler {
  return {
    kind: "idle",
    async look(rows, turn) {
      const [first] = rows;
      if (first === undefined) return [];
      const runs = await readHeads(
        { store, team: first.team },
        rows.map(({ name }) => name as RunId),
      );
      await Promise.all(rows.map((row, i) => look(runs[i] as SummarizedHead, row, turn)));
      return [];
    },
  };
}

/** A look that loses to another commit is repeated, because its row is still due. */
async function look(run: SummarizedHead, row: Work, turn: WorkTime): Promise<void> {
  const { store, team, id, head: { parts }, ledger } = run;
  const deadline = parts.closing === null ? idleDeadlineOf(parts.opening, ledger) : null;
  const at = deadline === null ? null : judgedAt(deadline, 0, turn.absences);
  const moved: Write = { team, deletes: [workKey(row)] };
  if (at === null) return void await store.writer.commit(moved);
  if (at > turn.summarizedToMs) {
    // After an absence, events may arrive whose deadline is before the postponed one.
    const lookAt = Math.min(at, turn.nowMs + idleTimeoutMsOf(parts.opening as Opening));
    return void await store.writer.commit({ ...moved, sets: [workSet({ ...row, at: lookAt })] });
  }
  const close = idleCloseOf(parts.opening as Opening, ledger, await lastTsOf(run), at);
  await commitUnnoted(store, {
    ...moved,
    checks: [run.check("opening"), run.check("closing"), run.check("ledger"), run.check("idle")],
    sets: [{ key: keys.idle(team, id), value: close }],
    pending: [{ lane: "closed", name: pendingName(team, id) }],
  });
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
