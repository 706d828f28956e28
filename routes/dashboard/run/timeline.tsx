/** The timeline: a page of the events of a run as a waterfall, with a link to the next page. */
import { dayOf, formatInstant } from "../../../domain/core/time.ts";
import { cursorText } from "../../api/runs/run_json.ts";
import { countedText, durationText } from "../components/format.ts";
import { type EventPreview, previewOf } from "./event_preview.ts";
import { EventRow, type RelativeTime } from "./event_row.tsx";
import type { LoadedRun } from "./load.ts";
import { offsetText } from "./labels.ts";
import { eventsPath, pagePath, rawPath } from "./paths.ts";

export function Timeline(
  { loaded, opened }: { readonly loaded: LoadedRun; readonly opened: string | null },
) {
  const { run, page, after } = loaded;
  const end = page.next === null ? null : page.nearEnd;
  return (
    <section id="timeline" aria-labelledby="timeline-title">
      <h2 id="timeline-title">Timeline</h2>
      {after === null && end === null ? null : (
        <p class="jumps">
          {countedText(run.usage.events, "event")}.{" "}
          {after === null ? null : <a href={eventsPath(run.id, null)}>To the first</a>}{" "}
          {end === null ? null : <a href={eventsPath(run.id, end)}>To the last</a>}
        </p>
      )}
      <Chunk loaded={loaded} opened={opened} />
    </section>
  );
}

/** Builds the element id of a page of events: several may be in the document at a time. */
export function chunkName({ after }: Pick<LoadedRun, "after">): string {
  return after === null ? "events-first" : `events-${cursorText(after)}`;
}

/** One page of events, also fetched to be appended below another. */
function Chunk({ loaded, opened }: { readonly loaded: LoadedRun; readonly opened: string | null }) {
  const { run, page, after, calls, isAdmin } = loaded;
  const previews = page.events.map(previewOf);
  const [first] = previews;
  if (first === undefined) {
    return (
      <div id={chunkName(loaded)}>
        {after === null ? <NoEvents loaded={loaded} /> : <p>No further events.</p>}
      </div>
    );
  }
  const span = spanOf(previews, run.startedAt ?? first.event.ts);
  return (
    <div id={chunkName(loaded)} class="chunk">
      <Axis span={span} count={previews.length} />
      <ol class="events">
        {previews.map((preview, i) => (
          <EventRow
            preview={preview}
            span={span}
            call={calls.get(preview.event.id) ?? null}
            isOpened={preview.event.id === opened}
            isAdmin={isAdmin}
            all={rawPath(run.id, page.events[i - 1]?.position ?? after, 1)}
          />
        ))}
      </ol>
      <More loaded={loaded} />
    </div>
  );
}

/** Computes the time span of a page of events. */
function spanOf(previews: readonly EventPreview[], runStart: number): RelativeTime {
  const starts = previews.map(({ event }) => event.ts);
  const ends = previews.map(({ event, latencyMs }) => event.ts + (latencyMs ?? 0));
  const startMs = Math.min(...starts);
  return { runStart, startMs, lengthMs: Math.max(1, Math.max(...ends) - startMs) };
}

function Axis({ span, count }: { readonly span: RelativeTime; readonly count: number }) {
  const { startMs, lengthMs, runStart } = span;
  const from = formatInstant(startMs);
  return (
    <div class="time-axis">
      <p class="soft">
        {countedText(count, "event")} within {durationText(lengthMs)}, from{" "}
        <time datetime={from}>
          {dayOf(startMs)} {from.slice(11, 19)} UTC
        </time>
      </p>
      <div class="ticks" aria-hidden="true">
        {[0, 0.5, 1].map((part) => <span>{offsetText(startMs + part * lengthMs, runStart)}</span>)}
      </div>
    </div>
  );
}

/**
 * A link to the next page of events: appended below this one, or opened instead of it without
 * scripts.
 */
function More({ loaded: { run, page } }: { readonly loaded: LoadedRun }) {
  if (page.next === null) return null;
  return (
    <p class="pager">
      <a
        id="more"
        href={eventsPath(run.id, page.next)}
        rel="next"
        role="button"
        class="secondary outline"
        hx-get={pagePath(run.id, page.next)}
        hx-select={`#${chunkName({ after: page.next })}`}
        hx-select-oob="#facts"
        hx-target="closest p"
        hx-swap="outerHTML"
      >
        Load more
      </a>
    </p>
  );
}

function NoEvents({ loaded: { run } }: { readonly loaded: LoadedRun }) {
  if (run.usage.events > 0) {
    return (
      <p>
        {countedText(run.usage.events, "event")}{" "}
        removed by age: the plan keeps payloads for a while. The totals are above.
      </p>
    );
  }
  return (
    <p>
      {run.kind === "heartbeat" ? "A heartbeat has no events of its own. " : "No events yet. "}
      Model calls, tools and logs are shown here once they are sent to{" "}
      <code>POST /v1/runs/{run.id}/events</code>.
    </p>
  );
}
