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
import { prefersJson } from "../../http/compress.ts";
import { queryOf } from "../../http/query.ts";

export const sendHeartbeat: Handler = async (c, deps) => {
  const principal = c.get("principal");
  const body = c.get("body");
  const refused = agentRefusalOf(principal, body.value.agent);
  if (refused !== null) return fail(c, refused);
  const parsed = parseHeartbeat(body, parseContext(c), new Losses());
  if (!parsed.ok) return fail(c, parsed.problem);
  const outcome = await writeHeartbeat(deps, c, parsed.value.request);
  if (!outcome.ok) return fail(c, outcome.problem);
  const json = heartbeatJson(outcome.value);
  return answerWrite(c, outcome.value.kind, json, parsed.value.losses);
};

/** A durably stored heartbeat. */
interface HeartbeatResult {
  readonly kind: "stored" | "replayed";
  readonly id: RunId;
  readonly parts: RunParts;
}

/** Stores a heartbeat under its id, or a minted one (decision 33). */
export async function writeHeartbeat(
  { runs, region, environment }: AppDeps,
  c: RequestContext,
  body: HeartbeatBody,
): Promise<Parsed<HeartbeatResult>> {
  const receivedAt = environment.now();
  const id = body.id ?? mintRunId(region, environment, receivedAt);
  const request: HeartbeatRequest = { ...body, id };
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

/** Returns when a heartbeat's close arrived, else its opening: retries get the same response. */
export function heartbeatReceivedAt({ opening, closing }: RunParts): number {
  return closing?.receivedAt ?? opening?.receivedAt ?? 0;
}

/** Returns the opening, which every stored heartbeat has. */
export function openingOf({ opening }: RunParts): Opening {
  if (opening === null) throw new TypeError("A stored heartbeat has no opening");
  return opening;
}

/** Returns the cost of a heartbeat in dollars; 0 while the run is open (decision 29). */
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
  const outcome = await writeHeartbeat(deps, c, { ...parsed.value.request, note });
  if (!outcome.ok) return fail(c, outcome.problem);

  const { id, kind, parts } = outcome.value;
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
    // Left out unless the ping reported a cost or a model, to keep plain responses short.
    cost_usd: reportsCost(parts) ? heartbeatCost(parts) : undefined,
  };
  return answer(c, 200, rawOf(json), headers);
};

function reportsCost(parts: RunParts): boolean {
  const { cost, model } = reportedBy(parts);
  return cost !== undefined || model !== undefined;
}
