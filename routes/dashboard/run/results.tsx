/** Parts of a run's page: labels and flags, output, scores, metadata, stages, instants. */
import type { PropsWithChildren } from "hono/jsx";
import { formatInstant } from "../../../domain/core/time.ts";
import { nextTryAt, type StageProgress } from "../../../domain/runs/stages.ts";
import type { AddedScore } from "../../../domain/runs/scores.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { At, Copyable, KeyValues, LabelList, Section, Sign } from "../components/elements.tsx";
import { durationText } from "../components/format.ts";
import { FLAG_WORDS, type FlagWords } from "../components/run_state.tsx";
import { agentPath, queryText, runPath, RUNS_PATH } from "../layout/paths.ts";
import type { RunData } from "./run_load.ts";
import { CostSection } from "./cost.tsx";
import { CopyButton, Fold, Output } from "./values.tsx";

type RunProps = Pick<RunData, "run">;

/** Output, scores, cost and the rest of a run below its timeline. */
export function Results({ data, origin }: { readonly data: RunData; readonly origin: string }) {
  const { run } = data;
  return (
    <div id="results" class="results">
      <OutputSection run={run} />
      <Scores run={run} />
      <CostSection {...data} />
      <MetadataTable run={run} />
      <Stages run={run} />
      <Instants run={run} />
      <FoldedSection id="elsewhere" title="The same as JSON">
        <p>Request it with a key of the team:</p>
        <Copyable
          id="curl"
          text={`curl -sS -u "$RUNLEDGER_KEY:" "${origin}/v1/runs/${run.id}"`}
        />
      </FoldedSection>
    </div>
  );
}

/** Shows the labels and the flags of a run. */
export function RunLabelList({ run, traits }: Pick<RunData, "run" | "traits">) {
  const flags = flagsOf(run, traits);
  const linkOf = (value: string | null | undefined, to: (value: string) => string) =>
    value ? <a href={to(value)}>{value}</a> : null;
  const id = (
    <>
      <code id="run-id">{run.id}</code> <CopyButton of="run-id" label="Copy the run's id" />
    </>
  );
  return (
    <>
      <LabelList
        pairs={[
          ["Agent", linkOf(run.agent, agentPath)],
          [
            "Customer",
            linkOf(run.customerId, (id) => RUNS_PATH + queryText([["customer_id", id]])),
          ],
          ["Feature", linkOf(run.feature, (name) => RUNS_PATH + queryText([["feature", name]]))],
          ["Started", run.startedAt && <At at={run.startedAt} />],
          ["Started by run", linkOf(run.opening?.parentRunId, runPath)],
          ["Note", run.status === "failed" ? null : run.note],
          ["Id", id],
        ]}
      />
      {flags.length > 0 && (
        <ul class="flags">
          {flags.map(([label, meaning]) => (
            <li>
              <b>{label}:</b> {meaning}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function flagsOf(run: RunRecord, traits: RunData["traits"]): readonly FlagWords[] {
  const { flags, lost, ignored, payload, clockSkewMs: skewMs } = run;
  const names = new Set<string>([...flags, ...run.cost.flags, ...traits]);
  const removed = payload === "removed" ? "was removed" : "was partly removed";
  const aheadMs = flags.includes("future_start") ? -1 : skewMs ?? -1;
  const own: readonly (readonly [boolean, ...FlagWords])[] = [
    [payload !== "whole", "Payload removed", `it ${removed} by age. Cost, usage and labels stay.`],
    [ignored.length > 0, "Unknown names", `${ignored.join(", ")}.`],
    [lost.length > 0, "Affected fields", `${lost.join(", ")}.`],
    [aheadMs >= 0, "Clock ahead", `the client's clock, by ${durationText(aheadMs)} or more.`],
  ];
  return [
    ...Object.entries(FLAG_WORDS).flatMap(([name, flag]) => names.has(name) ? [flag] : []),
    ...own.flatMap(([applies, ...flag]) => applies ? [flag] : []),
  ];
}

/** Shows the output, if there is one. */
function OutputSection({ run: { id, output } }: RunProps) {
  return output !== null && (
    <Section id="output" title="Output">
      <Output run={id} output={output} />
    </Section>
  );
}

/** Shows the scores, if there are any. */
function Scores({ run: { scores, addedScores } }: RunProps) {
  const own = scores.map(([name, value]) => ({ name, value, source: "the run itself" }));
  const all: readonly (typeof own[number] & Partial<AddedScore>)[] = [...own, ...addedScores];
  const pairs = all.map(({ name, value, source, receivedAt: at }) =>
    [
      name,
      <>
        {value === true ? "✓ true" : value === false ? "✕ false" : value}{" "}
        <span class="soft">{source}</span> {at !== undefined && <At at={at} />}
      </>,
    ] as const
  );
  return pairs.length > 0 && (
    <Section id="scores" title="Scores">
      <KeyValues pairs={pairs} />
    </Section>
  );
}

/** Shows the metadata, if there is any. */
function MetadataTable({ run: { metadata } }: RunProps) {
  const pairs = (metadata ?? []).map(([key, value]) =>
    [key, value === null ? <i>removed by age</i> : String(value)] as const
  );
  return pairs.length > 0 && (
    <Section id="metadata" title="Metadata">
      <LabelList pairs={pairs} />
    </Section>
  );
}

/** The icon and the word of each state of a stage. */
const STATES = {
  pending: ["late", "waiting"],
  done: ["ok", "done"],
  skipped: ["off", "skipped"],
  retrying: ["warn", "failed"],
  dead: ["bad", "failed for good"],
} as const;

/** Shows the stages after the end of a run, unless all are done. */
export function Stages({ run: { id, processing } }: RunProps) {
  // Stages that are done, or have nothing to do, are no news. Before the cost is done, it is not known
  // which of the others have.
  const known = processing[0]?.state === "done" ? processing : processing.slice(0, 1);
  const stages = known.filter(({ state }) => state !== "skipped");
  return stages.some(({ state }) => state !== "done") && (
    <Section id="processing" title="Processing">
      <KeyValues pairs={stages.map((stage) => [stage.stage, <Stage {...stage} />])} />
      {stages.some(({ state }) =>
        state === "dead"
      ) && (
        <p>
          The operator of the service retries a stage once its cause is fixed:{" "}
          <code>deno task jobs --redrive={id}</code>
        </p>
      )}
    </Section>
  );
}

function Stage({ state, attempts, at, error }: StageProgress) {
  const [icon, word] = STATES[state];
  const tryAt = state === "retrying" ? nextTryAt({ tries: attempts, at }) : "dead";
  const retry = tryAt !== "dead" && <At at={tryAt} />;
  return (
    <Sign icon={icon}>
      {word} since <At at={at} />
      {error !== undefined && `, attempt ${attempts}: ${error}`}
      {retry && "; next attempt "}
      {retry}
    </Sign>
  );
}

/** Shows the exact instants and the trace of a run. */
function Instants({ run }: RunProps) {
  const { trace, idleTimeoutSeconds: idle, idleTimeoutStatus } = run.opening ?? {};
  const timeOf = (at: number | null) =>
    at !== null && <time datetime={formatInstant(at)}>{formatInstant(at)}</time>;
  const ending = idleTimeoutStatus === undefined ? "" : `, as ${idleTimeoutStatus}`;
  const lateMs = -(run.clockSkewMs ?? 0);
  return (
    <FoldedSection id="instants" title={trace ? "Exact instants and trace" : "Exact instants"}>
      <KeyValues
        pairs={[
          ["Started", timeOf(run.startedAt)],
          ["Ended", timeOf(run.finishedAt)],
          ["First received", timeOf(run.receivedAt)],
          ["Last received", timeOf(run.updatedAt)],
          [
            "Received after its start",
            lateMs > 0 && `${durationText(lateMs)} (delayed upload or wrong client clock)`,
          ],
          ["Closes when idle", idle && `after ${durationText(idle * 1_000)}${ending}`],
          ["Trace", trace && <code>{trace.traceId}</code>],
          ["Parent span", trace && <code>{trace.spanId}</code>],
        ]}
      />
    </FoldedSection>
  );
}

type FoldedProps = PropsWithChildren<{ readonly id: string; readonly title: string }>;

/** A panel that readers rarely need: it opens by its heading. */
function FoldedSection({ id, title, children }: FoldedProps) {
  return <Fold id={id} class="panel" summary={<h2>{title}</h2>}>{children}</Fold>;
}
