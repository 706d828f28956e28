/** Labels for run flags, each with its meaning. */
import type { Child } from "hono/jsx";
import type { RunFlag } from "../../../domain/runs/flags.ts";
import { durationText } from "../components/format.ts";
import type { LoadedRun } from "./load.ts";

export function Flags({ loaded }: { readonly loaded: LoadedRun }) {
  const flags = [...partsMissing(loaded), ...lostFields(loaded), ...odd(loaded)];
  return flags.length === 0 ? null : (
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

/** Lists parts of the run that have not arrived or were removed. */
function partsMissing({ run }: LoadedRun): Flag[] {
  const flags: Flag[] = [];
  if (run.flags.includes("no_opening")) {
    flags.push([
      "No opening yet:",
      <>
        events or its end came before{" "}
        <code>POST /v1/runs</code>, so its agent and start are unknown. The order of the calls does
        not matter; without an opening the run is removed after a week.
      </>,
    ]);
  }
  if (run.payload !== "whole") {
    const what = run.payload === "removed" ? "was removed" : "was partly removed";
    flags.push([
      "Payload removed:",
      `what it was sent (events, output, goal, note, values of metadata) ${what} by age, as the plan ` +
      "says. Cost, usage, scores and labels stay.",
    ]);
  }
  return flags;
}

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

/** Lists losses, and the affected fields of the opening and the close. */
function lostFields({ run: { flags, lost } }: LoadedRun): Flag[] {
  const losses = flags.flatMap((flag) => LOSSES[flag] === undefined ? [] : [LOSSES[flag]]);
  return lost.length === 0 ? losses : [...losses, ["Affected fields:", `${lost.join(", ")}.`]];
}

function odd({ run, traits }: LoadedRun): Flag[] {
  const flags: Flag[] = [];
  if (traits.includes("late")) {
    flags.push([
      "Late events:",
      "some events arrived after the run finished. They are included, and the cost was recalculated.",
    ]);
  }
  if (run.flags.includes("negative_duration")) {
    flags.push(["Ends before it starts:", "by the client's clock, so its duration counts as 0."]);
  }
  if (run.flags.includes("future_start")) {
    flags.push([
      "Starts in the future:",
      "more than a day after it arrived, so lists and spend have it at its arrival.",
    ]);
  } else if (run.clockSkewMs !== null) {
    const by = durationText(Math.abs(run.clockSkewMs));
    flags.push(
      run.clockSkewMs < 0
        ? ["Sent late:", `it arrived ${by} after it says it was, or the client's clock is behind.`]
        : ["Clock ahead:", `it says ${by} later than it arrived, so the client's clock is wrong.`],
    );
  }
  if (run.cost.flags.includes("cached_exceeds_input")) {
    flags.push([
      "Cached tokens apart:",
      "some call cached more tokens than its input has, so they cost on top of it.",
    ]);
  }
  return flags;
}
