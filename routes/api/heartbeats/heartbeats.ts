/** `POST /v1/heartbeats`, and `GET|HEAD /v1/ping`: a heartbeat from a shell (decisions, section 3). */
import { Losses } from "../../../domain/core/losses.ts";
import type { Handler } from "../../http/admission.ts";
import { type AppDeps, parseContext, type RequestContext } from "../../http/context.ts";
import { agentRefusalOf } from "../../../domain/teams/credentials.ts";
import type { HeartbeatRequest } from "../../../domain/runs/decide.ts";
import type { Parsed } from "../../../domain/core/errors.ts";
import { type Region, type RunId, uuid7Hex } from "../../../domain/core/ids.ts";
import { type RawJson, rawOf } from "../../../domain/core/raw_json.ts";
import type { ExactNumber } from "../../../domain/core/exact_number.ts";
import { dollars } from "../../../domain/pricing/money.ts";
import { type HeartbeatBody, parseHeartbeat } from "../../../domain/ingest/heartbeat.ts";
import type { Environment } from "../../../domain/core/environment.ts";
import {
  durationOf,
  heartbeatStatusOf,
  type Opening,
  reportedBy,
  reportedCost,
  type RunParts,
  statusOf,
} from "../../../domain/runs/run.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { answer, answerText, answerWrite, fail, writeHeaders } from "../../http/answer.ts";
import { conflictProblem } from "../runs/runs.ts";
import { parseQuery } from "../../../domain/core/query.ts";
import { readPing } from "../../../domain/ingest/ping.ts";
import { prefersJson } from "../../http/accept.ts";
import { queryOf } from "../../http/query.ts";

export const sendHeartbeat: Handler = async (c, deps) => {
  const principal = c.get("principal");
  const body = c.get("body");
  const refused = agentRefusalOf(principal, body.value.agent);
  if (refused !== null) return fail(c, refused);
  const parsed = parseHeartbeat(body, parseContext(c), new Losses());
  if (!parsed.ok) return fail(c, parsed.problem);
  const settled = await writeHeartbeat(deps, c, parsed.value.request);
  if (!settled.ok) return fail(c, settled.problem);
  const json = heartbeatJson(settled.value);
  return answerWrite(c, settled.value.kind, json, parsed.value.losses);
};

/** A heartbeat that is on disk. */
interface HeartbeatResult {
  readonly kind: "stored" | "replayed";
  readonly id: RunId;
  readonly parts: RunParts;
}

/** Stores a heartbeat under its id, or a minted one (decision 33). */
export async function writeHeartbeat(
  { runs, region, environment }: AppDeps,
  c: RequestContext,
  sent: HeartbeatBody,
): Promise<Parsed<HeartbeatResult>> {
  const receivedAt = environment.now();
  const id = sent.id ?? mintRunId(region, environment, receivedAt);
  const request: HeartbeatRequest = { ...sent, id };
  const outcome = await runs.heartbeat(c.get("principal").team, request, receivedAt);
  switch (outcome.kind) {
    case "refused":
      return { ok: false, problem: outcome.problem };
    case "conflict":
      return { ok: false, problem: conflictProblem(id, outcome) };
    case "stored":
    case "replayed":
      return { ok: true, value: { ...outcome, id } };
    default:
      return outcome satisfies never;
  }
}

function mintRunId(region: Region, environment: Environment, nowMs: number): RunId {
  return `run_${region}_${uuid7Hex(nowMs, environment.random(10))}` as RunId;
}

/** When a heartbeat's record arrived: its close if it has one, so that retries answer alike. */
export function heartbeatReceivedAt({ opening, closing }: RunParts): number {
  return closing?.receivedAt ?? opening?.receivedAt ?? 0;
}

/** A settled heartbeat is always open. */
export function openingOf({ opening }: RunParts): Opening {
  if (opening === null) throw new TypeError("A settled heartbeat has no opening");
  return opening;
}

/** What a heartbeat cost, in dollars; what an open run will cost is not known yet (decision 29). */
export function heartbeatCost(parts: RunParts): ExactNumber | number {
  return dollars(parts.closing === null ? 0n : reportedCost(parts));
}

function heartbeatJson({ id, parts }: HeartbeatResult): RawJson {
  const opening = openingOf(parts);
  const { closing } = parts;
  return rawOf({
    id,
    agent: opening.agent,
    status: heartbeatStatusOf(statusOf(parts)),
    started_at: formatInstant(opening.startedAt),
    finished_at: closing === null ? null : formatInstant(closing.finishedAt),
    received_at: formatInstant(heartbeatReceivedAt(parts)),
    cost_usd: heartbeatCost(parts),
    duration_ms: durationOf(opening, closing),
  });
}

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
