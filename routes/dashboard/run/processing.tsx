/** The stages after the close of a run, each with its state. */
import {
  STAGE_ATTEMPTS_MAX,
  stageDueAt,
  type StageProgress,
  type StageState,
} from "../../../domain/runs/stages.ts";
import { Ago } from "../components/elements.tsx";
import { type Column, numberColumn, Table } from "../components/table.tsx";
import type { LoadedRun } from "./load.ts";

const STATE_LABELS: Readonly<Record<StageState, readonly [sign: string, meaning: string]>> = {
  pending: ["…", "waiting"],
  done: ["✓", "done"],
  skipped: ["–", "skipped"],
  retrying: ["↻", "failed, is tried again"],
  dead: ["✕", "given up"],
};

/** Shows the stages; an open run has none. */
export function Stages({ loaded: { run, nowMs } }: { readonly loaded: LoadedRun }) {
  if (run.processing.length === 0) return null;
  const isSkipped = run.processing.some(({ state }) => state === "skipped");
  const isDead = run.processing.some(({ state }) => state === "dead");
  return (
    <section id="processing">
      <h2>Processing</h2>
      <Table
        label="Stages after the end of the run"
        columns={columnsAt(nowMs)}
        rows={run.processing}
      />
      {isSkipped ? <p class="soft">Skipped stages are not configured.</p> : null}
      {isDead
        ? (
          <p>
            A stage is given up after {STAGE_ATTEMPTS_MAX}{" "}
            tries, and those after it wait. Once its cause is fixed, the operator of the service
            retries it: <code>deno task jobs --redrive={run.id}</code>
          </p>
        )
        : null}
    </section>
  );
}

function columnsAt(nowMs: number): readonly Column<StageProgress>[] {
  return [
    { head: "Stage", isName: true, cell: ({ stage }) => stage },
    { head: "State", cell: (stage) => <State stage={stage} nowMs={nowMs} /> },
    numberColumn("Tries", ({ attempts }) => attempts),
    { head: "Since", cell: ({ at }) => <Ago at={at} now={nowMs} /> },
    { head: "Last error", cell: ({ error }) => error ?? "" },
  ];
}

function State({ stage, nowMs }: { readonly stage: StageProgress; readonly nowMs: number }) {
  const [sign, meaning] = STATE_LABELS[stage.state];
  return (
    <>
      <span aria-hidden="true">{sign}</span> {meaning}
      {stage.state === "retrying" ? <Ago at={stageDueAt(stage)} now={nowMs} /> : null}
    </>
  );
}
