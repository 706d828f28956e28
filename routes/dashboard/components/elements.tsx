/** Small page elements: times, amounts, statuses, notices. */
import type { PropsWithChildren } from "hono/jsx";
import type { Picodollars } from "../../../domain/pricing/money.ts";
import type { RunStatus } from "../../../domain/runs/run.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { agoText, exactMoneyText, moneyText } from "./format.ts";

/** An instant as relative time; hovering shows the exact one. */
export function Ago({ at, now }: { readonly at: number; readonly now: number }) {
  const exact = formatInstant(at);
  return <time datetime={exact} title={exact}>{agoText(at, now)}</time>;
}

/** An amount rounded for reading; hovering shows the exact one. */
export function Money({ of }: { readonly of: Picodollars }) {
  const exact = exactMoneyText(of);
  const text = moneyText(of);
  return <span class="money" title={text === exact ? undefined : exact}>{text}</span>;
}

/** A distinct symbol for each status, so that nothing depends on colour alone. */
const SIGNS: Readonly<Record<RunStatus, string>> = {
  running: "▶",
  success: "✓",
  failed: "✕",
  timeout: "◷",
  cancelled: "⊘",
};

export function Status({ of }: { readonly of: RunStatus }) {
  return (
    <span class={`status ${of}`}>
      <span aria-hidden="true">{SIGNS[of]}</span> {of}
    </span>
  );
}

/** A region that scrolls when its table is wider than the screen, also by keyboard. */
export function Wide({ label, children }: PropsWithChildren<{ readonly label: string }>) {
  return <div class="wide" role="region" aria-label={label} tabindex={0}>{children}</div>;
}

type NoticeProps = PropsWithChildren<{ readonly kind: "good" | "warn" | "bad" }>;

/** A notice; `bad` for problems that need action. */
export function InlineNotice({ kind, children }: NoticeProps) {
  return <div class={`notice ${kind}`} role="status">{children}</div>;
}

type SectionProps = PropsWithChildren<{ readonly title: string; readonly id?: string }>;

/** A section of a page with its heading. */
export function Section({ title, id, children }: SectionProps) {
  return (
    <section id={id}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** Shown instead of an empty list: explains how to fill it. */
export function Empty({ title, children }: PropsWithChildren<{ readonly title: string }>) {
  return (
    <section class="empty">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/**
 * Text to copy, such as a command line, with a copy button where the browser supports it.
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

/** A link to the next page of a list; nothing on the last page. */
export function NextPage({ to }: { readonly to: string | null }) {
  return to !== null && (
    <p class="pager">
      <a href={to} rel="next" role="button" class="secondary outline">Next page</a>
    </p>
  );
}
