/** The stages behind a run's close: what was done of them, and what is given up. */
import {
  STAGE_ATTEMPTS_MAX,
  stageDueAt,
  type StageProgress,
  type StageState,
} from "../../../domain/runs/stages.ts";
import { Ago, Wide } from "../components/elements.tsx";
import type { LoadedRun } from "./load.ts";

const STATES: Readonly<Record<StageState, readonly [sign: string, meaning: string]>> = {
  pending: ["…", "waiting"],
  done: ["✓", "done"],
  skipped: ["–", "skipped"],
  retrying: ["↻", "failed, is tried again"],
  dead: ["✕", "given up"],
};

/** Shows the stages; while a run is open there are none. */
export function Stages({ shown: { run, nowMs } }: { readonly shown: LoadedRun }) {
  if (run.processing.length === 0) return null;
  const isSkipped = run.processing.some(({ state }) => state === "skipped");
  const isDead = run.processing.some(({ state }) => state === "dead");
  return (
    <section id="processing">
      <h2>Processing</h2>
      <Wide label="Stages after the end of the run">
        <table>
          <thead>
            <tr>
              <th scope="col">Stage</th>
              <th scope="col">State</th>
              <th scope="col" class="number">Tries</th>
              <th scope="col">Since</th>
              <th scope="col">Last error</th>
            </tr>
          </thead>
          <tbody>
            {run.processing.map((stage) => <Row stage={stage} nowMs={nowMs} />)}
          </tbody>
        </table>
      </Wide>
      {isSkipped ? <p class="soft">What is skipped has nothing set up for it.</p> : null}
      {isDead
        ? (
          <p>
            A stage is given up after {STAGE_ATTEMPTS_MAX}{" "}
            tries, and those behind it wait. Once its cause is gone, whoever runs the service has it
            tried again: <code>deno task jobs --redrive={run.id}</code>
          </p>
        )
        : null}
    </section>
  );
}

function Row({ stage, nowMs }: { readonly stage: StageProgress; readonly nowMs: number }) {
  const [sign, meaning] = STATES[stage.state];
  return (
    <tr>
      <th scope="row">{stage.stage}</th>
      <td>
        <span aria-hidden="true">{sign}</span> {meaning}
        {stage.state === "retrying"
          ? (
            <>
              <Ago at={stageDueAt(stage)} now={nowMs} />
            </>
          )
          : null}
      </td>
      <td class="number">{stage.attempts}</td>
      <td>
        <Ago at={stage.at} now={nowMs} />
      </td>
      <td>{stage.error ?? ""}</td>
    </tr>
  );
}
