/** The failure box: what failed, where, and what to do next. */
import { durationText } from "../components/format.ts";
import { runPath } from "../layout/paths.ts";
import { RunIncidents } from "../alerts/entries.tsx";
import { lineOf, offsetText, previewOf } from "./event_preview.ts";
import { Icon } from "../components/icons.tsx";
import { reasonOf, silenceOf } from "./title.ts";
import { comparePath, tracePath } from "./paths.ts";
import { isFailure } from "./steps.ts";
import type { Cause, TraceProps } from "./run_view.ts";

/** Maximum characters of the heading. */
const REASON_CHARS = 600;

/** Minimum milliseconds without an event that the box reports. */
const SILENCE_MS = 60_000;

/** Shows why a run failed; of another run only its incidents. */
export function Failure(props: TraceProps) {
  const { run, view, trace: { cause } } = props;
  if (!isFailure(run.status) || cause === null) {
    return props.incidents.length > 0 && (
      <p class="notice warn">
        <RunIncidents {...props} />
      </p>
    );
  }
  const word = run.status === "failed" ? "Failed" : "Timed out";
  const event = cause.event === null ? null : previewOf(cause.event);
  const ofStep = cause.isFailing ? event?.failure : null;
  const silence = silenceOf(run);
  const reason = reasonOf(run) ?? cause.reason ?? ofStep ?? silence;
  const inRun = cause.path.at(-1)?.id ?? null;
  const target = event === null ? null : `${
    tracePath(run.id, {
      list: view.list,
      after: inRun === null ? cause.after : null,
      event: event.event.id,
      inRun,
    })
  }#${inRun === null ? "" : `${inRun}.`}${event.event.id}`;
  return (
    <section class={`fail ${run.status}`} aria-labelledby="why">
      <h2 id="why">
        {reason === null ? word : `${word}: ${lineOf(reason, REASON_CHARS)}`}
      </h2>
      {silence !== null && silence !== reason && <p class="where">The run was {silence}.</p>}
      <Where {...props} cause={cause} target={target} reason={reason} />
      {reason === null && event === null && cause.path.length === 0 && <NoReason {...props} />}
      <p class="since">
        <Recent {...props} /> <RunIncidents {...props} />
      </p>
      <div class="act">
        {target !== null && (
          <a class="btn" href={target} data-select>
            Show in timeline
          </a>
        )}
        <a class="btn main" href={comparePath(run.id)}>
          Compare with last success
        </a>
      </div>
    </section>
  );
}

type WhereProps = TraceProps & {
  readonly cause: Cause;
  readonly target: string | null;
  readonly reason: string | null;
};

function Where({ run, trace, cause, target, reason }: WhereProps) {
  const { path, event, isFailing, tries } = cause;
  if (event === null && path.length === 0) return null;
  const preview = event === null ? null : previewOf(event);
  const silentMs = preview === null || isFailing || run.finishedAt === null || path.length > 0
    ? 0
    : run.finishedAt - preview.event.ts - (preview.latencyMs ?? 0);
  return (
    <p class="where">
      <span>
        {isFailing
          ? "In"
          : path.length > 0
          ? "In child run"
          : "No event reports a failure. The last one:"}
      </span>
      {path.map(({ id, agent }) => (
        <>
          {" "}
          <a href={runPath(id)}>{agent ?? id}</a> <Icon name="chevron" />
        </>
      ))} {preview !== null && target !== null && (
        <>
          <a href={target} data-select>
            {preview.name ?? (preview.text === null ? preview.label : lineOf(preview.text, 60))}
          </a>{" "}
          <span>
            at {offsetText(preview.event.ts, trace.axis.startMs)}
            {tries > 1 && `, after ${tries} tries`}
          </span>
          {preview.failure !== null && preview.failure !== reason && (
            <span>: {preview.failure}</span>
          )}
        </>
      )}
      {silentMs >= SILENCE_MS && (
        <span>
          Then {durationText(silentMs)} without an event, until its end.
        </span>
      )}
    </p>
  );
}

/** Width of a run in the picture of the latest ones, its gap, and the heights of its bar. */
const DOT = { width: 4, gap: 2, good: 5, bad: 10 } as const;

/** Shows how many of the agent's latest runs failed; nothing for its first run. */
function Recent({ run, recent }: TraceProps) {
  if (recent.length < 2) return null;
  const failed = recent.filter(({ status }) => isFailure(status)).length;
  return (
    <>
      {failed} of the last {recent.length} runs of <bdi>{run.agent}</bdi> failed.{" "}
      <svg
        class="recent"
        width={recent.length * (DOT.width + DOT.gap)}
        height={DOT.bad}
        aria-hidden="true"
      >
        {recent.toReversed().map(({ status }, i) => {
          const height = isFailure(status) ? DOT.bad : DOT.good;
          return (
            <rect
              class={isFailure(status) ? "is-bad" : undefined}
              x={i * (DOT.width + DOT.gap)}
              y={DOT.bad - height}
              width={DOT.width}
              height={height}
            />
          );
        })}
      </svg>
    </>
  );
}

function NoReason({ run }: TraceProps) {
  if (run.payload !== "whole") {
    return <p class="where">The reason was removed by age, as the plan says.</p>;
  }
  return (
    <p class="where">
      It does not say why: no event, no note and no <code>error</code> in its{" "}
      <code>output</code>. Send <code>{'"output": {"error": "…"}'}</code>{" "}
      with its end, and it is shown here.
    </p>
  );
}
