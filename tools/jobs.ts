/** `deno task jobs`: lists the worker's backlog and the work that failed. */
import { PENDING_LANES } from "../domain/runs/stages.ts";
import type { RunId } from "../domain/core/ids.ts";
import { formatInstant } from "../domain/core/time.ts";
import { type Backlog, type PendingWork, readBacklog } from "../kv/runs/pending_queue.ts";
import { type FailedWork, failedWork, revive } from "../kv/runs/run_work.ts";
import type { OpenStore } from "../kv/open.ts";
import { LEDGER_HELP, LEDGER_OPTIONS, withLedger } from "./ledger_file.ts";
import { type Io, processIo, runCommand, ToolFailure, UsageError } from "./command.ts";

const HELP = [
  "deno task jobs [--kv=FILE] [--redrive=RUN_ID|all]",
  "Lists the worker's backlog, and all work that failed. Stages of runs are dead after 8 tries.",
  ...LEDGER_HELP,
  "  --redrive=RUN_ID|all  retry the dead stages of one run, or of all runs",
  "Exit codes: 0 no dead stages, 1 dead stages or none to redrive, 3 no such ledger.",
];

/** Runs the command; returns its exit code. */
export function jobs(args: readonly string[], io: Io, now = () => Date.now()): Promise<number> {
  const options = { ...LEDGER_OPTIONS, redrive: { type: "string" } } as const;
  return runCommand(io, HELP, { args: [...args], options }, async ({ values }) => {
    if (values.redrive === "") throw new UsageError("--redrive takes a run id, or all");
    return await withLedger(values.kv, async (store) => {
      if (values.redrive !== undefined) return await redrive(store, values.redrive, io, now());
      return await list(store, io);
    });
  });
}

async function list(store: OpenStore, io: Io): Promise<number> {
  backlogLines(await readBacklog(store)).forEach((line) => io.out(line));
  let [failed, dead] = [0, 0];
  for await (const work of failedWork(store)) {
    if (failed++ === 0) io.out("Failed work:");
    if (work.nextAt === "dead") dead++;
    failedLines(work).forEach((line) => io.out(line));
  }
  if (failed === 0) io.out("No failed work.");
  if (dead > 0) {
    const advice = "fix the cause, then run deno task jobs --redrive=RUN_ID, or --redrive=all";
    io.out(`${dead} dead: ${advice}`);
  }
  return dead === 0 ? 0 : 1;
}

function backlogLines({ runs, stages }: Backlog): string[] {
  return [
    ...PENDING_LANES.map((lane) =>
      `Pending changes of ${lane} runs: ${waitingText(runs[lane], "since")}`
    ),
    `Pending stages: ${waitingText(stages, "due")}`,
  ];
}

function waitingText({ count, oldestMs }: PendingWork, verb: string): string {
  return oldestMs === null ? "none" : `${count}, the oldest ${verb} ${formatInstant(oldestMs)}`;
}

function failedLines({ kind, team, name, tries, error, nextAt }: FailedWork): string[] {
  const next = nextAt === "dead" ? "dead" : `next try ${formatInstant(nextAt)}`;
  return [`  ${name} of ${team}: ${kind}, ${tries} tries, ${next}`, `    ${error}`];
}

async function redrive(store: OpenStore, target: string, io: Io, nowMs: number): Promise<number> {
  let revived = 0;
  for await (const { kind, team, name, nextAt } of failedWork(store)) {
    if (nextAt !== "dead" || target !== "all" && name !== target) continue;
    if (!await revive(store, { team, run: name as RunId }, nowMs)) continue;
    revived++;
    io.out(`${name} of ${team}: ${kind} will be retried`);
  }
  if (revived > 0) {
    io.out("A running service retries within a minute, a stopped one when it starts.");
  } else if (target === "all") {
    io.out("No dead stages: nothing to retry.");
  } else {
    throw new ToolFailure(`${target} has no dead stage: deno task jobs lists all dead stages`);
  }
  return 0;
}

if (import.meta.main) Deno.exit(await jobs(Deno.args, processIo()));
