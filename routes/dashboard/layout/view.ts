/**
 * TODO-MODULE
 *
 * @module
 */
import type { Child } from "hono/jsx";

/** What a page says. */
export interface View {
  /** What it is of: its heading and the title of its tab. */
  readonly title: string;
  readonly body: Child;
  /** Shown beside the heading: what can be done here, or what it is limited to. */
  readonly aside?: Child;
  /** 200 when absent. */
  readonly status?: number;
  /** Seconds after which a browser without scripts loads it anew; never when absent. */
  readonly reloadSeconds?: number;
}
