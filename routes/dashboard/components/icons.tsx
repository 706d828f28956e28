/** Icons: one symbol each, drawn on 16 × 16, sent once a page and used by name. */
import { raw } from "hono/html";

/** Markup of the symbols by name. */
const SYMBOLS = {
  // Statuses.
  bad:
    `<path fill="currentColor" d="M5.3 1.5h5.4l3.8 3.8v5.4l-3.8 3.8H5.3l-3.8-3.8V5.3z"/><path class="cutout" d="m6 6 4 4m0-4-4 4"/>`,
  ok: `<path d="m3 8.5 3.4 3.4L13 4.8"/>`,
  late: `<circle cx="8" cy="8" r="6.2"/><path d="M8 4.5V8l2.4 1.7"/>`,
  timeout: `<path d="M4.4 2h7.2M4.4 14h7.2M5 2v2.2L8 8l3-3.8V2M5 14v-2.2L8 8l3 3.8V14"/>`,
  run: `<circle cx="8" cy="8" r="6" opacity=".28"/><path class="spin" d="M8 2a6 6 0 0 1 6 6"/>`,
  off: `<circle cx="8" cy="8" r="6.2"/><path d="m3.7 12.3 8.6-8.6"/>`,
  paused: `<path d="M5.5 3.5v9m5-9v9" stroke-width="2"/>`,
  new: `<circle cx="8" cy="8" r="6" stroke-dasharray="2.4 2.3"/>`,
  warn: `<path d="M8 2.2 14.4 13.4H1.6zM8 6.6v3.2m0 1.8v.1"/>`,
  info: `<circle cx="8" cy="8" r="6.2"/><path d="M8 7.2v4M8 4.7v.1"/>`,
  // Kinds of steps.
  agent:
    `<circle cx="8" cy="5.4" r="2.9"/><path d="M2.8 14c.5-3 2.5-4.6 5.2-4.6s4.7 1.6 5.2 4.6"/>`,
  model: `<path d="M8 1.8 9.7 6.3 14.2 8l-4.5 1.7L8 14.2 6.3 9.7 1.8 8l4.5-1.7z"/>`,
  tool:
    `<path d="M9.6 6.4a3.3 3.3 0 0 1 4.2-4.1l-2 2 .2 1.7 1.7.2 0 0-7.4 7.4a1.6 1.6 0 0 1-2.3-2.3z"/>`,
  log: `<path d="M3 4h10M3 8h10M3 12h6"/>`,
  // Actions.
  search: `<circle cx="7" cy="7" r="4.5"/><path d="m10.4 10.4 3.6 3.6"/>`,
  bell: `<path d="M4 11V7a4 4 0 0 1 8 0v4l1.3 1.3H2.7zM6.8 14.2h2.4"/>`,
  mute: `<path d="M4 11V7a4 4 0 0 1 6.5-3M12 7v4l1.3 1.3H2.7M2 2l12 12"/>`,
  send: `<path d="m2 8 12-5.5L10.5 14 8 9z"/>`,
  copy:
    `<rect x="5.5" y="5.5" width="8" height="8" rx="1.5"/><path d="M10.5 5.5V4A1.5 1.5 0 0 0 9 2.5H4A1.5 1.5 0 0 0 2.5 4v5A1.5 1.5 0 0 0 4 10.5h1.5"/>`,
  plus: `<path d="M8 3v10M3 8h10"/>`,
  close: `<path d="m4 4 8 8m0-8-8 8"/>`,
  chevron: `<path d="m6 3.5 4.5 4.5L6 12.5"/>`,
  page: `<path d="M4 1.8h5l3 3v9.4H4zM9 1.8v3h3"/>`,
  user: `<path d="M2.5 13V4.5L8 2l5.5 2.5V13M6 13V9h4v4M2 13.5h12"/>`,
} as const;

export type IconName = keyof typeof SYMBOLS;

/** Draws an icon. It has no name of its own: the text next to it has. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="i" aria-hidden="true">
      <use href={`#i-${name}`} />
    </svg>
  );
}

const TEXT = Object.entries(SYMBOLS)
  .map(([name, shape]) => `<symbol id="i-${name}" viewBox="0 0 16 16">${shape}</symbol>`).join("");

/** Defines the symbols; once a page. */
export function Symbols() {
  return <svg hidden>{raw(TEXT)}</svg>;
}

/** The mark: entries of a ledger, the last one in the accent. */
export function Logo() {
  return (
    <svg viewBox="0 0 22 22" aria-hidden="true">
      <rect class="logo-page" width="22" height="22" rx="5" />
      <path class="logo-a" d="M4.5 5.5h7v2.4h-7zM7.5 9.8H15v2.4H7.5z" />
      <path class="logo-b" d="M12 14.1h5.5v2.4H12z" />
    </svg>
  );
}
