/** `GET|HEAD /v1/ping`: a heartbeat from a shell (decisions, section 3). */
import type { Handler } from "../../http/admission.ts";
import { parseContext } from "../../http/context.ts";
import { agentRefusalOf } from "../../../domain/teams/credentials.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import { parseHeartbeat } from "../../../domain/ingest/parse.ts";
import { parseQuery } from "../../../domain/core/query.ts";
import { readPing } from "../../../domain/ingest/ping.ts";
import {
  heartbeatStatusOf,
  reportedBy,
  type RunParts,
  statusOf,
} from "../../../domain/runs/run.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { prefersJson } from "../../http/accept.ts";
import { answer, answerText, fail, writeHeaders } from "../../http/answer.ts";
import { heartbeatCost, heartbeatReceivedAt, openingOf, writeHeartbeat } from "./heartbeats.ts";
import { queryOf } from "../../http/query.ts";

export const ping: Handler = async (c, deps) => {
  const principal = c.get("principal");
  const { grant } = principal;
  const query = parseQuery(queryOf(c));
  if (!query.ok) return fail(c, query.problem);
  const refused = agentRefusalOf(principal, query.value.get("agent"));
  if (refused !== null) return fail(c, refused);
  const context = parseContext(c);
  const tokenAgent = grant.kind === "ping_token" ? grant.agent : null;
  const read = readPing(query.value, tokenAgent, context.metadataKeysMax > 0);
  if (!read.ok) return fail(c, read.problem);
  const { body, note, losses } = read.value;
  const parsed = parseHeartbeat(body, context, losses);
  if (!parsed.ok) return fail(c, parsed.problem);
  const settled = await writeHeartbeat(deps, c, { ...parsed.value.request, note });
  if (!settled.ok) return fail(c, settled.problem);

  const { id, kind, parts } = settled.value;
  const headers = {
    "X-Run-Id": id,
    "Cache-Control": "no-store",
    ...writeHeaders(kind, parsed.value.losses),
  };
  if (!prefersJson(c.req.raw.headers.get("accept"))) {
    return answerText(c, 200, "OK\n", undefined, headers);
  }
  const json = {
    id,
    agent: openingOf(parts).agent,
    status: heartbeatStatusOf(statusOf(parts)),
    received_at: formatInstant(heartbeatReceivedAt(parts)),
    // Only where the ping said anything about it; a plain one stays as short as it is.
    cost_usd: tellsCost(parts) ? heartbeatCost(parts) : undefined,
  };
  return answer(c, 200, rawOf(json), headers);
};

function tellsCost(parts: RunParts): boolean {
  const { cost, model } = reportedBy(parts);
  return cost !== undefined || model !== undefined;
}
