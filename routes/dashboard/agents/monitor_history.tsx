/** The history of a monitor: its flips as sentences, latest first. */
import type { Child } from "hono/jsx";
import type { Flip } from "../../../domain/monitors/monitor.ts";
import { runPath } from "../layout/paths.ts";
import { countedText, durationText } from "../components/format.ts";
import { Icon, type IconName } from "../components/icons.tsx";
import { MONITOR_LABELS } from "../components/monitor.tsx";
import { At } from "../components/time.tsx";

/** What happened, by the reason of a flip. */
const REASONS: Readonly<Record<Flip["reason"], string>> = {
  created: "monitor created",
  arrived: "a run arrived",
  expected: "a run was expected",
  missed: "no run came",
  failed: "a run failed",
  overrun: "a run took longer than its maximum",
  recovered: "a run succeeded",
  paused: "paused",
  resumed: "resumed",
  changed: "settings changed",
  absence: "the service did not run",
};

interface HistoryProps {
  /** Latest first. */
  readonly flips: readonly Flip[];
  /** Maximum flips shown; one more says how long the last of them lasted. */
  readonly shown: number;
}

/** Flips shown before the others are folded. */
const UNFOLDED = 6;

export function MonitorHistory({ flips, shown }: HistoryProps) {
  const entries = flips.slice(0, shown).map((flip, i) => (
    <Entry flip={flip} before={flips[i + 1] ?? null} />
  ));
  return (
    <div>
      <ol class="story" aria-label="History">{entries.slice(0, UNFOLDED)}</ol>
      {entries.length > UNFOLDED && (
        <details>
          <summary>{countedText(entries.length - UNFOLDED, "earlier change")}</summary>
          <ol class="story" aria-label="Earlier history">{entries.slice(UNFOLDED)}</ol>
        </details>
      )}
    </div>
  );
}

function Entry({ flip, before }: { readonly flip: Flip; readonly before: Flip | null }) {
  const [icon, name] = markOf(flip);
  return (
    <li>
      <At at={flip.at} />
      <span class={`st ${name}`}>
        <Icon name={icon} />
      </span>
      <span>{sentenceOf(flip, before)}</span>
    </li>
  );
}

function markOf({ to }: Flip): readonly [IconName, string] {
  return to === "unknown" ? ["off", "st-off"] : [MONITOR_LABELS[to][1], `st-${to}`];
}

function sentenceOf(flip: Flip, before: Flip | null): Child {
  const { to, reason, at, until, run } = flip;
  if (to === "unknown" && until !== undefined) {
    return (
      <>
        <b>Not judged</b>: {REASONS.absence}, until <At at={until} />
      </>
    );
  }
  if (to === "unknown") return REASONS[reason];
  const [word] = MONITOR_LABELS[to];
  const trouble = before?.to === "down" || before?.to === "late" ? before : null;
  return (
    <>
      <b>{word}</b>
      {reason !== to && ": "}
      {reason === to
        ? null
        : run === undefined
        ? REASONS[reason]
        : <a href={runPath(run)}>{REASONS[reason]}</a>}
      {trouble !== null && to === "up" && `, ${trouble.to} for ${durationText(at - trouble.at)}`}
    </>
  );
}
