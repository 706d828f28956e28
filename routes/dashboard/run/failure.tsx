/** The failure of a run, shown at the top of its page. */
import { InlineNotice } from "../components/elements.tsx";
import { durationText } from "../components/format.ts";
import { lineOf, membersOf, offsetText, previewOf, reasonIn } from "./event_preview.ts";
import type { LoadedRun } from "./load.ts";
import { eventsPath } from "./paths.ts";

/** Maximum failing events listed. */
const NAMED_MAX = 3;

/** Number of preceding events that the link to a failing event shows as context. */
const EVENTS_BEFORE = 8;

/** Maximum characters shown of a note. */
const NOTE_CHARS = 600;

/** Minimum milliseconds without an event that the page reports. */
const SILENCE_MS = 60_000;

/** Shows why a run failed; nothing for other runs. */
export function Failure(loaded: LoadedRun) {
  const { run: { status, note, output, payload } } = loaded;
  if (status !== "failed" && status !== "timeout") return null;
  const reason = note ?? (output === null ? null : reasonIn(membersOf(output, "message")));
  const events = findCauses(loaded);
  return (
    <InlineNotice kind="bad">
      <h2>{status === "failed" ? "✕ It failed" : "◷ It ran out of time"}</h2>
      {reason !== null && <p class="reason">{lineOf(reason, NOTE_CHARS)}</p>}
      {events.length > 0 && <Causes {...loaded} events={events} />}
      {events.length === 0 && reason === null && <NoReason isKept={payload === "whole"} />}
    </InlineNotice>
  );
}

type CausesProps = LoadedRun & { readonly events: ReturnType<typeof findCauses> };

function Causes({ run, end, events }: CausesProps) {
  const { id, startedAt, finishedAt } = run;
  const hasFailure = events.some(({ preview }) => preview.failure !== null);
  const last = end.events.at(-1);
  const silentMs = last === undefined || finishedAt === null
    ? 0
    : finishedAt - last.ts - (previewOf(last).latencyMs ?? 0);
  return (
    <>
      <p>
        {hasFailure
          ? "What failed last:"
          : run.usage.errors > 0
          ? "What failed of its events was long before the last one:"
          : "No event reports a failure; the last one:"}
      </p>
      <ul>
        {events.map(({ preview: { event, label, name, text, failure }, after }) => (
          <li>
            <a href={eventsPath(id, after, event.id)}>
              {startedAt !== null && `${offsetText(event.ts, startedAt)} `}
              {label} {name}
              {text !== null && failure === null && ` ${text}`}
            </a>
            {failure !== null && `: ${failure}`}
          </li>
        ))}
      </ul>
      {silentMs >= SILENCE_MS && (
        <p>Then {durationText(silentMs)} without an event, until its end.</p>
      )}
    </>
  );
}

function NoReason({ isKept }: { readonly isKept: boolean }) {
  if (!isKept) return <p>The reason is no longer kept: the plan keeps payloads for a while.</p>;
  return (
    <p>
      It does not say why: no event, no note and no <code>error</code> in its{" "}
      <code>output</code>. Send <code>{'"output": {"error": "…"}'}</code>{" "}
      with its end, and it is shown here.
    </p>
  );
}

/**
 * Returns the last events that report a failure, else the last event of all; newest first, each
 * with the position that its page follows.
 */
function findCauses({ end, page, after }: LoadedRun) {
  const onPage = new Set(page.events.map(({ id }) => id));
  const events = end.events.map((event, i) => {
    const before = end.events[i - EVENTS_BEFORE - 1];
    const start = onPage.has(event.id) ? after : before?.position ?? end.after;
    return { preview: previewOf(event), after: start };
  });
  const failing = events.filter(({ preview }) => preview.failure !== null);
  return failing.length === 0 ? events.slice(-1) : failing.slice(-NAMED_MAX).reverse();
}
