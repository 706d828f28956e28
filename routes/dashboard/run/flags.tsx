/** Labels for run flags, each with its meaning. */
import type { Child } from "hono/jsx";
import type { RunFlag } from "../../../domain/runs/flags.ts";
import { durationText } from "../components/format.ts";
import type { LoadedRun } from "./load.ts";

export function Flags(loaded: LoadedRun) {
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
  truncated: [
    "Cut to a limit:",
    "a text, an event or the output was larger than its limit. The run keeps its beginning.",
  ],
  unreadable_figures: [
    "Unreadable figures:",
    "an event has numbers that could not be read, so they count as absent. The event names them.",
  ],
  no_tokens: ["No cost:", "a model call has no token counts, so nothing prices it."],
  batch_rate_missing: [
    "No batch rate:",
    "the rate card has no batch rate for a model that was called in batch mode, so the full rate counts.",
  ],
};

/** Lists missing parts of the run, then losses with the affected fields, then oddities. */
function flagsOf({ run, traits }: LoadedRun): readonly Flag[] {
  const { flags, lost, payload } = run;
  const removed = payload === "removed" ? "was removed" : "was partly removed";
  const all: readonly (Flag | false | null | undefined)[] = [
    flags.includes("no_opening") && NO_OPENING,
    payload !== "whole" && [
      "Payload removed:",
      `what it was sent (events, output, goal, note, values of metadata) ${removed} by age, as the plan ` +
      "says. Cost, usage, scores and labels stay.",
    ],
    ...flags.map((flag) => LOSSES[flag]),
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
      : skewFlag(run.clockSkewMs),
    run.cost.flags.includes("cached_exceeds_input") && [
      "Cached tokens apart:",
      "some call cached more tokens than its input has, so they cost on top of it.",
    ],
  ];
  return all.filter((flag) => !!flag);
}

function skewFlag(skewMs: number | null): Flag | null {
  if (skewMs === null) return null;
  const by = durationText(Math.abs(skewMs));
  return skewMs < 0
    ? ["Sent late:", `it arrived ${by} after it says it was, or the client's clock is behind.`]
    : ["Clock ahead:", `it says ${by} later than it arrived, so the client's clock is wrong.`];
}
