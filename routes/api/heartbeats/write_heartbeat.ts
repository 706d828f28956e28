/** Stores heartbeats and pings. */
import type { Environment } from "../../../domain/core/environment.ts";
import { Refused } from "../../../domain/core/errors.ts";
import { type Region, type RunId, uuid7Hex } from "../../../domain/core/ids.ts";
import type { Losses } from "../../../domain/core/losses.ts";
import type { HeartbeatBody } from "../../../domain/ingest/heartbeat.ts";
import type { Picodollars } from "../../../domain/pricing/money.ts";
import { costOfRun } from "../../../domain/runs/cost.ts";
import {
  type Opening,
  type Reported,
  reportedCost,
  type RunParts,
} from "../../../domain/runs/run.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { conflictProblem } from "../runs/runs.ts";

/** A durably stored heartbeat. */
export interface HeartbeatResult {
  readonly kind: "stored" | "replayed";
  readonly id: RunId;
  readonly opening: Opening;
  readonly parts: RunParts;
  /** Cost in picodollars; 0 while the run is open (decision 29). */
  readonly cost: Picodollars;
}

/**
 * Stores a heartbeat under its id, or a minted one (decision 33).
 *
 * @param losses of the request; gets those that depend on the run
 * @param ping present for a ping, which without an id may close another run (R23)
 */
export async function writeHeartbeat(
  { runs, region, environment }: AppDeps,
  c: RequestContext,
  body: HeartbeatBody,
  losses: Losses,
  ping?: { readonly rid: string | undefined },
): Promise<HeartbeatResult> {
  const { team } = c.get("principal");
  const receivedAt = environment.now();
  const request = { ...body, id: body.id ?? mintRunId(region, environment, receivedAt) };
  const { id, outcome } = ping === undefined || body.id !== undefined
    ? { id: request.id, outcome: await runs.heartbeat(team, request, receivedAt) }
    : await runs.ping(team, request, ping.rid, receivedAt);
  if (outcome.kind === "refused") throw new Refused(outcome.problem);
  if (outcome.kind === "conflict") throw new Refused(conflictProblem(id, outcome));
  const { kind, parts } = outcome;
  const { opening, closing } = parts;
  if (opening === null) throw new TypeError("A stored heartbeat has no opening");
  let cost = closing === null ? 0n : reportedCost(parts);
  if (opening.kind === "run") {
    // Its events alone price it (R34, pricing rule 4).
    dropReported(body.reported, losses);
    const run = closing === null ? null : await runs.find(team, id);
    cost = run === null ? 0n : costOfRun(run).amount;
  }
  return { kind, id, opening, parts, cost };
}

/** Reports the cost and the tokens of a heartbeat that do not count. */
function dropReported(reported: Reported, losses: Losses): void {
  const { cost, inputTokens, outputTokens, cachedInputTokens } = reported;
  losses.drop("cost_usd", Number(cost !== undefined));
  losses.drop("input_tokens", Number(inputTokens !== undefined));
  losses.drop("output_tokens", Number(outputTokens !== undefined));
  losses.drop("cached_input_tokens", Number(cachedInputTokens !== undefined));
}

function mintRunId(region: Region, environment: Environment, nowMs: number): RunId {
  return `run_${region}_${uuid7Hex(nowMs, environment.random(10))}` as RunId;
}
