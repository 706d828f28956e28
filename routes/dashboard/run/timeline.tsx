/** The timeline: a page of the events of a run as a waterfall, with a link to the next page. */
import { dayOf, formatInstant } from "../../../domain/core/time.ts";
import type { ExplainedCall } from "../../../domain/runs/explain_cost.ts";
import { cursorText } from "../../api/runs/run_json.ts";
import { Money } from "../components/elements.tsx";
import { compactText, countedText, durationText, formatCount } from "../components/format.ts";
import { CallCost } from "./call_cost.tsx";
import { type EventPreview, offsetText, previewOf } from "./event_preview.ts";
import type { LoadedRun } from "./load.ts";
import { eventsPath, pagePath, rawPath } from "./paths.ts";
import { Payload } from "./payload.tsx";

/** Maximum characters shown of an event's data. */
const DATA_CHARS = 4_000;

/** Bar units per row, and the minimum visible width. */
const BAR = { length: 1_000, least: 6 } as const;

/** A loaded run, and the id of the event that is opened. */
type TimelineProps = LoadedRun & { readonly opened: string | null };

export function Timeline(props: TimelineProps) {
  const { run: { id, usage }, page, after } = props;
  const end = page.next === null ? null : page.nearEnd;
  return (
    <section id="timeline" aria-labelledby="timeline-title">
      <h2 id="timeline-title">Timeline</h2>
      {(after !== null || end !== null) && (
        <p class="jumps">
          {countedText(usage.events, "event")}.{" "}
          {after !== null && <a href={eventsPath(id, null)}>To the first</a>}{" "}
          {end !== null && <a href={eventsPath(id, end)}>To the last</a>}
        </p>
      )}
      <Chunk {...props} />
    </section>
  );
}

/** Builds the element id of a page of events: several may be in the document at a time. */
export function chunkName({ after }: Pick<LoadedRun, "after">): string {
  return after === null ? "events-first" : `events-${cursorText(after)}`;
}

/** One page of events, also fetched to be appended below another. */
function Chunk(props: TimelineProps) {
  const { run, page, after, calls } = props;
  const previews = page.events.map(previewOf);
  const [first] = previews;
  if (first === undefined) {
    return (
      <div id={chunkName(props)}>
        {after === null ? <NoEvents {...run} /> : <p>No further events.</p>}
      </div>
    );
  }
  const span = spanOf(previews, run.startedAt ?? first.event.ts);
  return (
    <div id={chunkName(props)} class="chunk">
      <Axis span={span} count={previews.length} />
      <ol class="events">
        {previews.map((preview, i) => (
          <EventRow
            {...props}
            preview={preview}
            span={span}
            call={calls.get(preview.event.id) ?? null}
            all={rawPath(run.id, page.events[i - 1]?.position ?? after, 1)}
          />
        ))}
      </ol>
      <More {...props} />
    </div>
  );
}

/** The start of the run, and the time span that the bars of a page are drawn in. */
type Span = ReturnType<typeof spanOf>;

function spanOf(previews: readonly EventPreview[], runStart: number) {
  const starts = previews.map(({ event }) => event.ts);
  const ends = previews.map(({ event, latencyMs }) => event.ts + (latencyMs ?? 0));
  const startMs = Math.min(...starts);
  return { runStart, startMs, lengthMs: Math.max(1, Math.max(...ends) - startMs) };
}

function Axis({ span, count }: { readonly span: Span; readonly count: number }) {
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
 * A link to the next page of events. A script appends that page below this one; without scripts
 * the link opens it.
 */
function More({ run, page }: LoadedRun) {
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

function NoEvents({ id, kind, usage }: LoadedRun["run"]) {
  if (usage.events > 0) {
    const removed = `${countedText(usage.events, "event")} removed by age`;
    return <p>{removed}: the plan keeps payloads for a while. The totals are above.</p>;
  }
  return (
    <p>
      {kind === "heartbeat" ? "A heartbeat has no events of its own. " : "No events yet. "}
      Model calls, tools and logs are shown here once they are sent to{" "}
      <code>POST /v1/runs/{id}/events</code>.
    </p>
  );
}

interface RowProps extends Pick<TimelineProps, "opened" | "isAdmin"> {
  readonly preview: EventPreview;
  readonly span: Span;
  readonly call: ExplainedCall | null;
  /** Path of the complete data. */
  readonly all: string;
}

/** An event: time, name, latency, tokens and cost; its data when opened. */
function EventRow({ preview, span, call, opened, isAdmin, all }: RowProps) {
  const { event, latencyMs, failure } = preview;
  return (
    <li id={event.id} class={failure === null ? "" : "failing"}>
      <details id={`of-${event.id}`} open={event.id === opened}>
        <summary id={`row-${event.id}`}>
          <time class="offset" datetime={formatInstant(event.ts)} title={formatInstant(event.ts)}>
            {offsetText(event.ts, span.runStart)}
          </time>
          <Title {...preview} />
          <Bar {...preview} span={span} />
          <span class="took">{latencyMs === null ? "" : durationText(latencyMs)}</span>
          <Tokens of={preview.tokens} />
          <Cost of={call} />
        </summary>
        <div class="inside">
          <p class="soft">
            {event.type} <code>{event.id}</code> · {formatInstant(event.ts)}
            {event.turn === undefined ? "" : ` · turn ${event.turn}`}
            {` · arrived ${formatInstant(event.receivedAt)}`} · <a href={all}>JSON</a>
          </p>
          {event.unreadable !== undefined && (
            <p class="soft">Unreadable numbers: {event.unreadable.join(", ")}</p>
          )}
          {call !== null && <CallCost call={call} mayPrice={isAdmin} />}
          <Payload
            members={preview.members}
            chars={event.data.length}
            charsMax={DATA_CHARS}
            all={all}
          />
        </div>
      </details>
    </li>
  );
}

function Title({ sign, colour, label, name, text, failure }: EventPreview) {
  return (
    <span class="what">
      <span class={`sign ${colour}`} aria-hidden="true">{sign}</span>{" "}
      <span class="soft">{label}</span> {name !== null && <b>{name}</b>} {text !== failure && text}
      {failure !== null && <span class="why">✕ {failure}</span>}
    </span>
  );
}

function Cost({ of: call }: { readonly of: ExplainedCall | null }) {
  if (call?.unpriced === true) {
    return <abbr class="cost" title="No price on the rate card">no price</abbr>;
  }
  const hasCost = call !== null && (call.lines.length > 0 || call.cost !== 0n);
  return <span class="cost">{hasCost && <Money of={call.cost} />}</span>;
}

function Bar({ event, latencyMs, colour, span }: EventPreview & Pick<RowProps, "span">) {
  const scale = BAR.length / span.lengthMs;
  const width = Math.max(BAR.least, Math.round((latencyMs ?? 0) * scale));
  const x = Math.min(BAR.length - width, Math.round((event.ts - span.startMs) * scale));
  return (
    <svg
      class="lane"
      viewBox={`0 0 ${BAR.length} 10`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <rect class={colour} x={Math.max(0, x)} y="0" width={width} height="10" />
    </svg>
  );
}

function Tokens({ of: tokens }: { readonly of: EventPreview["tokens"] }) {
  if (tokens === null) return <span class="tokens"></span>;
  const { inputTokens, outputTokens } = tokens;
  const exact = `${formatCount(inputTokens)} input and ${formatCount(outputTokens)} output tokens`;
  return (
    <span class="tokens" title={exact}>
      {compactText(inputTokens)} → {compactText(outputTokens)} <span class="soft">tok</span>
    </span>
  );
}
