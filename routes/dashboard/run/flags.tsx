/** What is odd about a run, each with what it means. */
import type { Child } from "hono/jsx";
import type { RunFlag } from "../../../domain/run/record.ts";
import { durationText } from "../parts/format.ts";
import type { ShownRun } from "./load.ts";

/** Says what is odd about a run; nothing where nothing is. */
export function Flags({ shown }: { readonly shown: ShownRun }) {
  const told = [...partsMissing(shown), ...odd(shown)];
  return told.length === 0 ? null : (
    <ul class="flags">
      {told.map(([word, meaning]) => (
        <li>
          <b>{word}</b> {meaning}
        </li>
      ))}
    </ul>
  );
}

type Flag = readonly [word: string, meaning: Child];

/** What of the run has not arrived, or is no longer there. */
function partsMissing({ run }: ShownRun): Flag[] {
  const flags: Flag[] = [];
  if (run.flags.includes("no_opening")) {
    flags.push([
      "No opening yet:",
      <>
        events or its end came before{" "}
        <code>POST /v1/runs</code>, so nobody knows its agent and start. Whatever comes in which
        order, it ends in the same run; without an opening it goes after a week.
      </>,
    ]);
  }
  if (run.payload !== "whole") {
    const what = run.payload === "removed" ? "is gone" : "is gone in part";
    flags.push([
      "Payload removed:",
      `what it was sent (events, output, goal, note, values of metadata) ${what} by age, as the plan ` +
      "says. Cost, usage, scores and labels stay.",
    ]);
  }
  return flags;
}

/** What flags of its events mean. */
const OF_EVENTS: Readonly<Partial<Record<RunFlag, Flag>>> = {
  batch_rate_missing: [
    "Full rates for batch calls:",
    "the rate card has no batch rate for the model of some call in a batch.",
  ],
  no_tokens: ["Calls without token counts:", "they cost nothing, because nothing was counted."],
  truncated: [
    "Payload cut:",
    "part of an event was longer than its limit, and the rest is not stored.",
  ],
  unreadable_figures: [
    "Unreadable figures:",
    "some figure of a call is no number that can be used. The events name them.",
  ],
};

function odd({ run, traits }: ShownRun): Flag[] {
  const flags: Flag[] = [];
  if (traits.includes("late")) {
    flags.push(["Late:", "events arrived after its end. They count, and its cost was made anew."]);
  }
  if (run.flags.includes("negative_duration")) {
    flags.push(["Ends before it starts:", "by the client's clock, so its duration counts as 0."]);
  }
  if (run.clockSkewMs !== null) {
    const by = durationText(Math.abs(run.clockSkewMs));
    flags.push(
      run.clockSkewMs < 0
        ? ["Sent late:", `it arrived ${by} after it says it was, or the client's clock is behind.`]
        : ["Clock ahead:", `it says ${by} later than it arrived, so the client's clock is wrong.`],
    );
  }
  for (const flag of run.flags) {
    const told = OF_EVENTS[flag];
    if (told !== undefined) flags.push(told);
  }
  if (run.cost.flags.includes("cached_exceeds_input")) {
    flags.push([
      "Cached tokens apart:",
      "some call cached more tokens than its input has, so they cost on top of it.",
    ]);
  }
  return flags;
}
