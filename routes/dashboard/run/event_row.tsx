/** A row of the timeline: time, event, latency, tokens and cost; its data when opened. */
import type { ExplainedCall } from "../../../domain/runs/explain_cost.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { Money } from "../components/elements.tsx";
import { compactText, durationText, formatCount } from "../components/format.ts";
import { CallCost } from "./call_cost.tsx";
import { Payload } from "./payload.tsx";
import type { EventPreview } from "./event_preview.ts";
import { offsetText } from "./labels.ts";

/** The time span that bars are drawn in, in milliseconds. */
export interface RelativeTime {
  /** Start of the run. */
  readonly runStart: number;
  readonly startMs: number;
  readonly lengthMs: number;
}

/** Maximum characters shown of an event's data. */
const DATA_CHARS = 4_000;

/** Bar units per row, and the minimum visible width. */
const BAR = { length: 1_000, least: 6 } as const;

interface Row {
  readonly preview: EventPreview;
  readonly span: RelativeTime;
  readonly call: ExplainedCall | null;
  readonly isOpened: boolean;
  readonly isAdmin: boolean;
  /** Path of the complete data. */
  readonly all: string;
}

export function EventRow({ preview, span, call, isOpened, isAdmin, all }: Row) {
  const { event, latencyMs, failure } = preview;
  return (
    <li id={event.id} class={failure === null ? "" : "failing"}>
      <details id={`of-${event.id}`} {...(isOpened ? { open: true } : {})}>
        <summary id={`row-${event.id}`}>
          <time class="offset" datetime={formatInstant(event.ts)} title={formatInstant(event.ts)}>
            {offsetText(event.ts, span.runStart)}
          </time>
          <What preview={preview} />
          <Bar preview={preview} span={span} />
          <span class="took">{latencyMs === null ? "" : durationText(latencyMs)}</span>
          <Tokens preview={preview} />
          <Cost call={call} />
        </summary>
        <div class="inside">
          <p class="soft">
            {event.type} <code>{event.id}</code> · {formatInstant(event.ts)}
            {event.turn === undefined ? "" : ` · turn ${event.turn}`}
            {` · arrived ${formatInstant(event.receivedAt)}`} · <a href={all}>JSON</a>
          </p>
          {event.unreadable === undefined
            ? null
            : <p class="soft">Unreadable figures: {event.unreadable.join(", ")}</p>}
          {call === null ? null : <CallCost call={call} mayPrice={isAdmin} />}
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

function What({ preview }: Pick<Row, "preview">) {
  const { sign, colour, what, name, words, failure } = preview;
  return (
    <span class="what">
      <span class={`sign ${colour}`} aria-hidden="true">{sign}</span>{" "}
      <span class="soft">{what}</span> {name === null ? "" : <b>{name}</b>}{" "}
      {words === null || words === failure ? "" : words}
      {failure === null ? null : <span class="why">✕ {failure}</span>}
    </span>
  );
}

function Cost({ call }: Pick<Row, "call">) {
  if (call?.unpriced === true) {
    return <abbr class="cost" title="No price on the rate card">no price</abbr>;
  }
  const isNothing = call === null || (call.lines.length === 0 && call.cost === 0n);
  return <span class="cost">{isNothing ? "" : <Money of={call.cost} />}</span>;
}

function Bar({ preview: { event, latencyMs, colour }, span }: Pick<Row, "preview" | "span">) {
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

function Tokens({ preview: { tokens } }: Pick<Row, "preview">) {
  if (tokens === null) return <span class="tokens"></span>;
  const { inputTokens, outputTokens } = tokens;
  const exact = `${formatCount(inputTokens)} input and ${formatCount(outputTokens)} output tokens`;
  return (
    <span class="tokens" title={exact}>
      {compactText(inputTokens)} → {compactText(outputTokens)} <span class="soft">tok</span>
    </span>
  );
}
