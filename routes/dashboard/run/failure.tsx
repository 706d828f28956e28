/** The failure of a run, shown at the top of its page. */
import type { EventPosition } from "../../../domain/runs/event_page.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { InlineNotice } from "../components/elements.tsx";
import { durationText } from "../components/format.ts";
import { type EventPreview, lineOf, membersOf, previewOf, reasonIn } from "./event_preview.ts";
import type { LoadedRun } from "./load.ts";
import { offsetText } from "./labels.ts";
import { eventsPath } from "./paths.ts";

/** Maximum failing events listed. */
const NAMED_MAX = 3;

/** Number of preceding events that the link to a failing event shows as context. */
const EVENTS_BEFORE = 8;

/** Maximum characters shown of a note. */
const NOTE_CHARS = 600;

/** Minimum milliseconds without an event that the page reports. */
const SILENCE_MS = 60_000;

/** An event, and the position that its timeline page follows. */
interface LastEvent {
  readonly preview: EventPreview;
  readonly from: EventPosition | null;
}

/** Shows why a run failed; nothing for other runs. */
export function Failure({ loaded }: { readonly loaded: LoadedRun }) {
  const { run } = loaded;
  if (run.status !== "failed" && run.status !== "timeout") return null;
  const reason = run.note ??
    (run.output === null ? null : reasonIn(membersOf(run.output, "message")));
  const events = findFailures(loaded);
  return (
    <InlineNotice kind="bad">
      <h2>{run.status === "failed" ? "✕ It failed" : "◷ It ran out of time"}</h2>
      {reason === null ? null : <p class="reason">{lineOf(reason, NOTE_CHARS)}</p>}
      {events.length > 0
        ? <LastEvents events={events} loaded={loaded} />
        : reason === null
        ? <NoReason run={run} />
        : null}
    </InlineNotice>
  );
}

function LastEvents(
  { events, loaded }: { readonly events: LastEvent[]; readonly loaded: LoadedRun },
) {
  const silentMs = silenceAtEnd(loaded);
  const hasFailure = events.some(({ preview }) => preview.failure !== null);
  return (
    <>
      <p>
        {hasFailure
          ? "What failed last:"
          : loaded.run.usage.errors > 0
          ? "What failed of its events was long before the last one:"
          : "No event reports a failure; the last one:"}
      </p>
      <ul>
        {events.map(({ preview, from }) => (
          <li>
            <a href={eventsPath(loaded.run.id, from, preview.event.id)}>
              {startOf(loaded) === null
                ? null
                : `${offsetText(preview.event.ts, startOf(loaded) ?? 0)} `}
              {preview.what} {preview.name ?? ""}
              {preview.words === null || preview.failure !== null ? "" : ` ${preview.words}`}
            </a>
            {preview.failure === null ? null : `: ${preview.failure}`}
          </li>
        ))}
      </ul>
      {silentMs < SILENCE_MS
        ? null
        : <p>Then {durationText(silentMs)} without an event, until its end.</p>}
    </>
  );
}

function NoReason({ run }: { readonly run: RunRecord }) {
  return (
    <p>
      {run.payload === "whole"
        ? (
          <>
            It does not say why: no event, no note and no <code>error</code> in its{" "}
            <code>output</code>. Send <code>{'"output": {"error": "…"}'}</code>{" "}
            with its end, and it is shown here.
          </>
        )
        : "The reason is no longer kept: the plan keeps payloads for a while."}
    </p>
  );
}

/** Returns the last events that report a failure, else the last event of all; newest first. */
function findFailures({ end, page, after }: LoadedRun): LastEvent[] {
  const previews = end.events.map(previewOf);
  const onPage = new Set(page.events.map(({ id }) => id));
  const events = previews.flatMap((preview, i) => {
    if (
      preview.failure === null &&
      (i < previews.length - 1 || previews.some((any) => any.failure !== null))
    ) {
      return [];
    }
    if (onPage.has(preview.event.id)) return [{ preview, from: after }];
    const before = end.events[i - EVENTS_BEFORE - 1];
    return [{ preview, from: before?.position ?? end.after }];
  });
  return events.slice(-NAMED_MAX).reverse();
}

/** Returns the milliseconds between the last event and the end of the run. */
function silenceAtEnd({ end, run }: LoadedRun): number {
  const last = end.events.at(-1);
  if (last === undefined || run.finishedAt === null) return 0;
  return run.finishedAt - last.ts - (previewOf(last).latencyMs ?? 0);
}

function startOf({ run }: LoadedRun): number | null {
  return run.startedAt;
}
