/** Tabs: links to the parts of one area. */
import type { Child } from "hono/jsx";

export interface Tab {
  readonly name: string;
  readonly to: string;
  readonly isCurrent: boolean;
  /** A count, shown after the name. */
  readonly note?: Child;
}

/** Lists the parts of an area and marks the current one. */
export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  return (
    <nav class="tabs" aria-label={label}>
      <ul>
        {tabs.map(({ name, to, isCurrent, note }) => (
          <li>
            <a href={to} aria-current={isCurrent ? "page" : undefined}>
              {name}
              {note !== undefined && note !== null && [" ", note]}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
