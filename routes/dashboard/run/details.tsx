/** Details of a run: its labels, its flags and its exact instants. */
import { formatInstant } from "../../../domain/core/time.ts";
import { agentPath, queryText, runPath, RUNS_PATH } from "../layout/paths.ts";
import type { Child, PropsWithChildren } from "hono/jsx";
import { Icon } from "../components/icons.tsx";
import { At } from "../components/time.tsx";
import { durationText } from "../components/format.ts";
import { CopyButton } from "./messages.tsx";
import { type KeyValue, KeyValues, LabelList } from "../components/elements.tsx";
import type { RunData } from "./run_load.ts";
import type { RunFlag } from "../../../domain/runs/flags.ts";

/** Shows the labels, the flags and the exact instants of a run. */
export function RunLabelList(loaded: RunData) {
  const { run } = loaded;
  return (
    <>
      <LabelList
        pairs={[
          ["Agent", linkOf(run.agent, agentPath)],
          ["Customer", linkOf(run.customerId, runsWith("customer_id"))],
          ["Feature", linkOf(run.feature, runsWith("feature"))],
          ["Started", run.startedAt === null ? null : <At at={run.startedAt} />],
          ["Started by run", linkOf(run.opening?.parentRunId, runPath)],
          ["Note", run.status === "failed" ? null : run.note],
          [
            "Id",
            <>
              <code id="run-id">{run.id}</code> <CopyButton of="run-id" label="Copy the run's id" />
            </>,
          ],
        ]}
      />
      <Flags {...loaded} />
    </>
  );
}

function runsWith(label: "customer_id" | "feature") {
  return (value: string) => RUNS_PATH + queryText([[label, value]]);
}

function linkOf(value: string | null | undefined, pathOf: (value: string) => string): Child {
  return value ? <a href={pathOf(value)}>{value}</a> : null;
}

/** Shows the exact instants and the trace of a run. */
export function Instants(
  { opening, startedAt, finishedAt, receivedAt, updatedAt, clockSkewMs }: RunData["run"],
) {
  const trace = opening?.trace;
  const pairs: readonly KeyValue[] = [
    ["Started", timeOf(startedAt)],
    ["Ended", timeOf(finishedAt)],
    ["First arrived", timeOf(receivedAt)],
    ["Last arrived", timeOf(updatedAt)],
    ["Sent", latenessText(clockSkewMs)],
    ["Closes when idle", idleText(opening)],
    ["Trace", trace && <code>{trace.traceId}</code>],
    ["Parent span", trace && <code>{trace.spanId}</code>],
  ];
  return (
    <FoldedSection id="instants" title={trace ? "Exact instants and trace" : "Exact instants"}>
      <KeyValues pairs={pairs.filter(([, value]) => value !== null && value !== undefined)} />
    </FoldedSection>
  );
}

/** A panel that readers rarely need: it opens by its heading. */
export function FoldedSection(
  { id, title, children }: PropsWithChildren<{ readonly id: string; readonly title: string }>,
) {
  return (
    <details id={id} class="panel">
      <summary>
        <Icon name="chevron" /> <h2>{title}</h2>
      </summary>
      {children}
    </details>
  );
}

function timeOf(at: number | null): Child {
  if (at === null) return null;
  return <time datetime={formatInstant(at)}>{formatInstant(at)}</time>;
}

function idleText(opening: RunData["page"]["parts"]["opening"]): string | null {
  const { idleTimeoutSeconds, idleTimeoutStatus } = opening ?? {};
  if (idleTimeoutSeconds === undefined) return null;
  const status = idleTimeoutStatus === undefined ? "" : `, as ${idleTimeoutStatus}`;
  return `after ${durationText(idleTimeoutSeconds * 1_000)}${status}`;
}

export function Flags(loaded: RunData) {
  const flags = flagsOf(loaded);
  return flags.length > 0 && (
    <ul class="flags">
      {flags.map(([label, meaning]) => (
        <li>
          <b>{label}</b> {meaning}
        </li>
      ))}
    </ul>
  );
}

type Flag = readonly [label: string, meaning: Child];

const NO_OPENING: Flag = [
  "No opening yet:",
  <>
    events or its end came before{" "}
    <code>POST /v1/runs</code>, so its agent and start are unknown. The order of the calls does not
    matter; without an opening the run is removed after a week.
  </>,
];

/** Flags for received data that was lost. */
const LOSSES: Partial<Record<RunFlag, Flag>> = {
  dropped_fields: [
    "Fields not stored:",
    <>
      a call sent values that could not be read, such as a score without a number or a malformed
      parent id. The header <code>Runledger-Dropped</code> of its answer names them.
    </>,
  ],
  ignored_fields: [
    "Ignored fields:",
    "a call sent fields or parameters that it does not know, perhaps misspelt. They are stored nowhere.",
  ],
  truncated: [
    "Cut to a limit:",
    "a text, an event or the output was larger than its limit. The run keeps its beginning.",
  ],
  unreadable_figures: [
    "Unreadable numbers:",
    "an event has numbers that could not be read, so they count as absent. The event names them.",
  ],
  no_tokens: ["No cost:", "a model call has no token counts, so nothing prices it."],
  batch_rate_missing: [
    "No batch rate:",
    "the rate card has no batch rate for a model that was called in batch mode, so the full rate counts.",
  ],
};

/** Lists missing parts of the run, then losses with the affected fields, then oddities. */
function flagsOf({ run, traits }: RunData): readonly Flag[] {
  const { flags, lost, ignored, payload } = run;
  const removed = payload === "removed" ? "was removed" : "was partly removed";
  const all: readonly (Flag | false | null | undefined)[] = [
    flags.includes("no_opening") && NO_OPENING,
    payload !== "whole" && [
      "Payload removed:",
      `what it was sent (events, output, goal, note, values of metadata) ${removed} by age, as the plan ` +
      "says. Cost, usage, scores and labels stay.",
    ],
    ...flags.map((flag) => LOSSES[flag]),
    ignored.length > 0 && ["Unknown names:", `${ignored.join(", ")}.`],
    lost.length > 0 && ["Affected fields:", `${lost.join(", ")}.`],
    traits.includes("late") && [
      "Late events:",
      "some events arrived after the run finished. They are included, and the cost was recalculated.",
    ],
    flags.includes("negative_duration") &&
    ["Ends before it starts:", "by the client's clock, so its duration counts as 0."],
    flags.includes("future_start")
      ? [
        "Starts in the future:",
        "more than a day after it arrived, so lists and spend have it at its arrival.",
      ]
      : aheadFlag(run.clockSkewMs),
    run.cost.flags.includes("cached_exceeds_input") && [
      "Cached tokens apart:",
      "some call cached more tokens than its input has, so they cost on top of it.",
    ],
  ];
  return all.filter((flag) => !!flag);
}

function aheadFlag(skewMs: number | null): Flag | null {
  if (skewMs === null || skewMs < 0) return null;
  const by = durationText(skewMs);
  return ["Clock ahead:", `it says ${by} later than it arrived, so the client's clock is wrong.`];
}

/** Says how late a run arrived, which every imported run does. */
function latenessText(skewMs: number | null): string | null {
  if (skewMs === null || skewMs >= 0) return null;
  return `${durationText(-skewMs)} after its start, or the client's clock is behind`;
}
