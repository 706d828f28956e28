/** The failure box: what failed, where, and what to do next. */
import { durationText } from "../components/format.ts";
import { runPath } from "../layout/paths.ts";
import { RunIncidents } from "../alerts/entries.tsx";
import { lineOf, offsetText, previewOf } from "./event_preview.ts";
import { comparePath, tracePath } from "./paths.ts";
import { isFailure } from "./steps.ts";
import { reasonOf, silenceOf } from "./title.ts";
import type { ViewProps } from "./run_view.ts";

/** Maximum characters of the heading. */
const REASON_CHARS = 600;

/** Minimum milliseconds without an event that the box reports. */
const SILENCE_MS = 60_000;

/** Shown for a failure without any reason. */
const NO_REASON =
  'It does not say why: no event, no note, no error. Send "output": {"error": "…"} ' +
  "with its end, and it is shown here.";

/** Shows why a run failed; of another run only its incidents. */
export function Failure({ data, trace: { cause, axis } }: ViewProps) {
  const { run, view, recent, incidents, nowMs } = data;
  const isBad = ({ status }: typeof recent[number]) => isFailure(status);
  const named = <RunIncidents incidents={incidents} nowMs={nowMs} />;
  if (!isFailure(run.status) || cause === null) {
    return incidents.length > 0 && <p class="notice warn">{named}</p>;
  }
  const { path, isFailing, tries } = cause;
  const last = cause.event === null ? null : previewOf(cause.event);
  const word = run.status === "failed" ? "Failed" : "Timed out";
  const silence = silenceOf(run);
  const reason = reasonOf(run) ?? cause.reason ?? (isFailing && last?.failure || null) ?? silence;
  const inRun = path.at(-1)?.id ?? null;
  const after = inRun === null ? cause.after : null;
  const event = last?.event.id ?? null;
  const href = `${tracePath(run.id, { list: view.list, after, event, inRun })}#${
    inRun === null ? "" : `${inRun}.`
  }${event}`;
  const place = isFailing
    ? "In"
    : path.length > 0
    ? "In child run"
    : "No event reports a failure. The last one:";
  const silentMs = last === null || isFailing || path.length > 0
    ? 0
    : (run.finishedAt ?? 0) - last.event.ts - (last.latencyMs ?? 0);
  return (
    <section class={`fail ${run.status}`} aria-labelledby="why">
      <h2 id="why">{reason === null ? word : `${word}: ${lineOf(reason, REASON_CHARS)}`}</h2>
      {silence !== null && silence !== reason && <p class="where">The run was {silence}.</p>}
      {(last !== null || path.length > 0) && (
        <p class="where">
          <span>{place}</span>
          {path.map(({ id, agent }) => <a href={runPath(id)}>{agent ?? id}</a>)}
          {last !== null && (
            <>
              <a href={href} data-select>
                {last.name ?? (last.text === null ? last.label : lineOf(last.text, 60))}
              </a>
              <span>
                at {offsetText(last.event.ts, axis.startMs)}
                {tries > 1 && `, after ${tries} tries`}
                {last.failure !== null && last.failure !== reason && `: ${last.failure}`}
              </span>
            </>
          )}
          {silentMs >= SILENCE_MS && (
            <span>Then {durationText(silentMs)} without an event, until its end.</span>
          )}
        </p>
      )}
      {reason === null && last === null && path.length === 0 && (
        <p class="where">
          {run.payload === "whole" ? NO_REASON : "The reason was removed by age, as the plan says."}
        </p>
      )}
      {(recent.length > 1 || incidents.length > 0) && (
        <p class="since">
          {recent.length > 1 && (
            <>
              {recent.filter(isBad).length} of the last {recent.length} runs of{" "}
              <bdi>{run.agent}</bdi> failed.{" "}
              <span class="recent" aria-hidden="true">
                {recent.toReversed().map((each) => <i class={isBad(each) ? "is-bad" : ""} />)}
              </span>
            </>
          )} {named}
        </p>
      )}
      <div class="act">
        {last !== null && <a class="btn" href={href} data-select>Show in timeline</a>}
        <a class="btn main" href={comparePath(run.id)}>Compare with last success</a>
      </div>
    </section>
  );
}
