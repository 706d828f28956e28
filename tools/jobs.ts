/** `deno task jobs`: what waits for the worker, and the stages that were given up. */
import { createProcessingStore } from "../kv/summaries/processing_store.ts";
import { RunUpdater } from "../kv/summaries/run_updater.ts";
import { type DeadStage, PENDING_LANES, type ProcessingStore } from "../domain/runs/processing.ts";
import { formatInstant } from "../domain/core/time.ts";
import { type Backlog, type PendingWork, readBacklog } from "../kv/runs/backlog.ts";
import type { OpenStore } from "../kv/open.ts";
import { LEDGER_HELP, LEDGER_OPTIONS, withLedger } from "./ledger_file.ts";
import { type Io, processIo, runCommand, ToolFailure, UsageError } from "./command.ts";

const HELP = [
  "deno task jobs [--kv=FILE] [--redrive=RUN_ID|all]",
  "Lists what waits for the worker, and the stages of runs that were given up after 8 tries.",
  ...LEDGER_HELP,
  "  --redrive=RUN_ID|all  give the dead stages of a run, or of all, their tries back",
  "Exit codes: 0 nothing is dead, 1 something is or the run has no dead stage, 3 no such ledger.",
];

/** Runs the command; returns its exit code. */
export function jobs(args: readonly string[], io: Io, now = () => Date.now()): Promise<number> {
  const options = { ...LEDGER_OPTIONS, redrive: { type: "string" } } as const;
  return runCommand(io, HELP, { args: [...args], options }, async ({ values }) => {
    if (values.redrive === "") throw new UsageError("--redrive takes the id of a run, or all");
    return await withLedger(values.kv, async (store) => {
      const pipeline = createProcessingStore({
        store,
        updater: new RunUpdater(store),
        stages: [],
        now,
      });
      if (values.redrive !== undefined) return await redrive(pipeline, values.redrive, io);
      return await list(store, pipeline, io);
    });
  });
}

async function list(store: OpenStore, pipeline: ProcessingStore, io: Io): Promise<number> {
  backlogLines(await readBacklog(store)).forEach((line) => io.out(line));
  let dead = 0;
  for await (const one of pipeline.deadStages()) {
    if (dead++ === 0) io.out("Dead stages:");
    deadLines(one).forEach((line) => io.out(line));
  }
  io.out(
    dead === 0
      ? "No stage is dead."
      : `${dead} dead: mend the cause, then deno task jobs --redrive=RUN_ID, or --redrive=all`,
  );
  return dead === 0 ? 0 : 1;
}

function backlogLines({ runs, stages }: Backlog): string[] {
  return [
    ...PENDING_LANES.map((lane) =>
      `Changes of ${lane} runs to sum up: ${waitingText(runs[lane], "since")}`
    ),
    `Stages that wait: ${waitingText(stages, "due")}`,
  ];
}

function waitingText({ count, oldestMs }: PendingWork, word: string): string {
  return oldestMs === null ? "none" : `${count}, the oldest ${word} ${formatInstant(oldestMs)}`;
}

function deadLines({ team, run, stage }: DeadStage): string[] {
  const { attempts, at, error } = stage;
  return [
    `  ${run} of ${team}: ${stage.stage}, ${attempts} tries, since ${formatInstant(at)}`,
    `    ${error ?? "no error was kept"}`,
  ];
}

async function redrive(pipeline: ProcessingStore, wanted: string, io: Io): Promise<number> {
  let revived = 0;
  for await (const one of pipeline.deadStages()) {
    if (wanted !== "all" && one.run !== wanted) continue;
    if (!await pipeline.revive(one)) continue;
    revived++;
    io.out(`${one.run} of ${one.team}: ${one.stage.stage} is tried again`);
  }
  if (revived > 0) {
    io.out("A running service begins within a minute, a stopped one when it starts.");
  } else if (wanted === "all") {
    io.out("No stage is dead: there is nothing to do.");
  } else {
    throw new ToolFailure(`${wanted} has no dead stage: deno task jobs lists those that have`);
  }
  return 0;
}

if (import.meta.main) Deno.exit(await jobs(Deno.args, processIo()));
