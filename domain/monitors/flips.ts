/**
 * Flips of a monitor as a strip of days and as its uptime.
 *
 * @module
 */
import type { Flip, MonitorState } from "./monitor.ts";

/** State of a part of a strip, the worst of its time; `none`: nothing was judged. */
export type StripState = "none" | "ok" | "late" | "down";

/** A time with one state. */
interface Span {
  readonly fromMs: number;
  readonly toMs: number;
  readonly state: StripState;
}

/** States of a strip, from best to worst. */
const WORSE: readonly StripState[] = ["none", "ok", "late", "down"];

const STRIP_STATE: Readonly<Record<MonitorState, StripState>> = {
  new: "none",
  up: "ok",
  late: "late",
  down: "down",
  paused: "none",
};

/**
 * Returns the fraction of the judged time in which a monitor was not down, 0 to 1.
 *
 * @param flips flips since `fromMs` or earlier, in any order
 * @param now current state
 * @param toMs end, at most now, unix milliseconds
 * @returns null if nothing was judged: it was new, paused or unknown
 */
export function uptimeOf(
  flips: readonly Flip[],
  now: MonitorState,
  fromMs: number,
  toMs: number,
): number | null {
  let judged = 0, down = 0;
  for (const span of spansOf(flips, now, fromMs, toMs)) {
    const lasted = span.toMs - span.fromMs;
    if (span.state !== "none") judged += lasted;
    if (span.state === "down") down += lasted;
  }
  return judged === 0 ? null : (judged - down) / judged;
}

/**
 * Returns the worst state of each of the equal parts of a time, oldest first.
 *
 * @param flips flips since `fromMs` or earlier, in any order
 * @param now current state
 * @param toMs end, at most now, unix milliseconds
 */
export function stripOf(
  flips: readonly Flip[],
  now: MonitorState,
  fromMs: number,
  toMs: number,
  parts: number,
): StripState[] {
  const strip = Array.from({ length: parts }, (): StripState => "none");
  const partMs = (toMs - fromMs) / parts;
  for (const span of spansOf(flips, now, fromMs, toMs)) {
    const last = Math.min(parts, Math.ceil((span.toMs - fromMs) / partMs));
    for (let i = Math.floor((span.fromMs - fromMs) / partMs); i < last; i++) {
      const known = strip[i] ?? "none";
      if (WORSE.indexOf(span.state) > WORSE.indexOf(known)) strip[i] = span.state;
    }
  }
  return strip;
}

/** Returns the states of a time, in order; times that were not judged are `none`. */
function spansOf(flips: readonly Flip[], now: MonitorState, fromMs: number, toMs: number): Span[] {
  const sorted = flips.toSorted((a, b) => a.at - b.at);
  const changes = sorted.filter(({ to }) => to !== "unknown");
  const spans: Span[] = [];
  let endMs = toMs;
  let state = STRIP_STATE[now];
  // The current state is known, so the past is read backwards from it.
  for (const { at, from } of changes.toReversed()) {
    const startMs = Math.max(fromMs, Math.min(at, endMs));
    if (startMs < endMs) spans.push({ fromMs: startMs, toMs: endMs, state });
    endMs = startMs;
    state = from === null ? "none" : STRIP_STATE[from];
  }
  if (fromMs < endMs) spans.push({ fromMs, toMs: endMs, state });
  return sorted.filter(({ to }) => to === "unknown").reduce(without, spans.toReversed());
}

/** Returns spans without the time of an absence. */
function without(spans: Span[], { at, until = at }: Flip): Span[] {
  return spans.flatMap((span) => {
    if (until <= span.fromMs || at >= span.toMs) return [span];
    const before = { ...span, toMs: Math.max(span.fromMs, at) };
    const after = { ...span, fromMs: Math.min(span.toMs, until) };
    return [before, after].filter(({ fromMs, toMs }) => fromMs < toMs);
  });
}
