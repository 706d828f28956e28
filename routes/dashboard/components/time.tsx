/** Instants: in the reader's time zone or UTC, with the exact one in `datetime`. */
import { createContext, useContext } from "hono/jsx";
import { formatInstant } from "../../../domain/core/time.ts";
import { exactText, instantText } from "../assets/time.js";
import { agoText } from "./format.ts";

/** The time zone of a page, and the time it is rendered at, unix milliseconds. */
export interface PageTime {
  readonly zone: string;
  readonly nowMs: number;
}

export const TimeContext = createContext<PageTime>({ zone: "UTC", nowMs: 0 });

/** An instant as local time. The script formats it again when the zone is switched. */
export function At({ at }: { readonly at: number }) {
  const { zone, nowMs } = useContext(TimeContext);
  return (
    <time datetime={formatInstant(at)} title={exactText(at, zone)} data-at>
      {instantText(at, nowMs, zone)}
    </time>
  );
}

/** An instant as relative time, by default to the time of the page; hovering shows the exact one. */
export function Ago({ at, now }: { readonly at: number; readonly now?: number }) {
  const { zone, nowMs } = useContext(TimeContext);
  return (
    <time datetime={formatInstant(at)} title={exactText(at, zone)} data-ago>
      {agoText(at, now ?? nowMs)}
    </time>
  );
}
