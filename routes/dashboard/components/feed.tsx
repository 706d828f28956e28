/** A feed: entries that need attention, each one link. */
import type { Child } from "hono/jsx";
import { Icon, type IconName } from "./icons.tsx";

export interface FeedEntryProps {
  readonly to: string;
  readonly icon: IconName;
  /** Class of the icon's colour. */
  readonly name: string;
  readonly title: string;
  /** Shown at the right. */
  readonly end: Child;
  readonly children?: Child;
}

/** An entry of the feed, which is one link. */
export function FeedEntry({ to, icon, name, title, end, children }: FeedEntryProps) {
  return (
    <li>
      <span class={`st ${name}`}>
        <Icon name={icon} />
      </span>
      <div>
        <a class="row" href={to}>{title}</a>
        <p>{children}</p>
      </div>
      <span class="end">{end}</span>
    </li>
  );
}
