/** Requests of `/v1/monitors` and of the monitor of an agent, and their refusals. */
import { z } from "zod";
import { existing, notFound, type Parsed, type Problem } from "../../../domain/core/errors.ts";
import { readQuery, refuseParameter } from "../../../domain/core/query.ts";
import { isAgent } from "../../../domain/core/rules.ts";
import { MONITOR_STATES } from "../../../domain/monitors/monitor.ts";
import { zoneProblem } from "../../../domain/monitors/schedule.ts";
import {
  type FlipsQuery,
  MONITORS_PER_PAGE,
  type MonitorsQuery,
} from "../../../domain/monitors/store.ts";
import { decodeCursor, encodeCursor, nameInPath } from "../../http/query.ts";
import type { RequestContext } from "../../http/context.ts";

/** The same error for an agent without a monitor, an unknown agent, and an agent of another team. */
export const NO_SUCH_MONITOR = notFound(
  "No such monitor: list the monitors, or create one for an agent with PUT",
);

/** Returns the agent of the path; refuses a text that is no slug. */
export function agentInPath(c: RequestContext, none: Problem): string {
  const slug = nameInPath(c);
  return existing(isAgent(slug) ? slug : null, none);
}

/** Encodes the position after a monitor. */
export function monitorCursor(agent: string): string {
  return encodeCursor(agent);
}

/** Parses the query of a list of monitors. */
export function parseMonitorsQuery(text: string): Parsed<MonitorsQuery> {
  return readQuery(text, (query) => ({
    state: query.choice("state", MONITOR_STATES) ?? null,
    ...query.page((cursor) => {
      const agent = decodeCursor(cursor);
      return isAgent(agent) ? agent : null;
    }, MONITORS_PER_PAGE),
  }));
}

/** Encodes the position after a flip. */
export function flipCursor(at: number): string {
  return encodeCursor(String(at));
}

/** Parses the query of a list of flips. */
export function parseFlipsQuery(text: string): Parsed<FlipsQuery> {
  return readQuery(text, (query) => {
    const page = query.page((cursor) => {
      const at = decodeCursor(cursor) ?? "";
      return /^\d{1,16}$/.test(at) ? Number(at) : null;
    }, MONITORS_PER_PAGE);
    const { from: fromMs, to: toMs } = query.range();
    return { ...page, fromMs, toMs };
  });
}

/** Parameter of reads with a proposal. */
export const zone = z.string().default("UTC")
  .describe("IANA time zone of a proposed cron expression.");

/** Parses the time zone of a proposal; UTC when absent. */
export function parseZone(text: string): Parsed<string> {
  return readQuery(text, (query) => {
    const tz = query.text("tz") ?? "UTC";
    const problem = zoneProblem(tz);
    return problem === null ? tz : refuseParameter("tz", `"tz" must be ${problem}`);
  });
}
