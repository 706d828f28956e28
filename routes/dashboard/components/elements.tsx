/** What pages are made of: times, amounts, states, tables, hints. */
import type { Child } from "hono/jsx";
import type { Picodollars } from "../../../domain/pricing/money.ts";
import type { RunStatus } from "../../../domain/runs/run.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { agoText, exactMoneyText, moneyText } from "./format.ts";

/** An instant as how long ago it is; hovering tells exactly. */
export function Ago({ at, now }: { readonly at: number; readonly now: number }) {
  const exact = formatInstant(at);
  return <time datetime={exact} title={exact}>{agoText(at, now)}</time>;
}

/** An amount, rounded for reading; hovering tells exactly. */
export function Money({ of }: { readonly of: Picodollars }) {
  const exact = exactMoneyText(of);
  const text = moneyText(of);
  return text === exact
    ? <span class="money">{text}</span>
    : <span class="money" title={exact}>{text}</span>;
}

/** A sign of its own for each status, so that nothing depends on seeing its colour. */
const SIGNS: Readonly<Record<RunStatus, string>> = {
  running: "▶",
  success: "✓",
  failed: "✕",
  timeout: "◷",
  cancelled: "⊘",
};

/** How a run stands. */
export function Status({ of }: { readonly of: RunStatus }) {
  return (
    <span class={`status ${of}`}>
      <span aria-hidden="true">{SIGNS[of]}</span> {of}
    </span>
  );
}

/** A table that scrolls by itself where it is wider than the screen, also by keyboard. */
export function Wide({ label, children }: { readonly label: string; readonly children?: Child }) {
  return <div class="wide" role="region" aria-label={label} tabindex={0}>{children}</div>;
}

/** Something to know before reading on; `bad` for what needs somebody's work. */
export function InlineNotice(
  { kind, children }: { readonly kind: "good" | "warn" | "bad"; readonly children?: Child },
) {
  return <div class={`notice ${kind}`} role="status">{children}</div>;
}

/** What is shown in place of a list without anything in it: what would fill it. */
export function Empty({ title, children }: { readonly title: string; readonly children?: Child }) {
  return (
    <section class="empty">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/**
 * Text to copy whole, such as a command line; a button does it where the browser can.
 *
 * @param id unique on the page
 */
export function Copyable({ id, text }: { readonly id: string; readonly text: string }) {
  return (
    <div class="copyable">
      <pre id={id} tabindex={0}>{text}</pre>
      <button type="button" class="small" data-copies={id} hidden>Copy</button>
    </div>
  );
}

/** The way to the next page of a list; nothing at its end. */
export function NextPage({ to }: { readonly to: string | null }) {
  return to === null ? null : (
    <p class="pager">
      <a href={to} rel="next" role="button" class="secondary outline">Next page</a>
    </p>
  );
}
