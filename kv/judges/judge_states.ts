/**
 * Reads the states of judges: what they spend, and what keeps them from calling their models.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import type { JudgeAccount } from "../../domain/judges/account.ts";
import type { Judge } from "../../domain/judges/judge.ts";
import { type Obstacle, obstacleOf } from "../../domain/judges/obstacle.ts";
import type { CallDeps } from "./calls.ts";
import { readAccounts } from "./judge_rows.ts";

/** The state of a judge. */
export interface JudgeState {
  /** Its account on the current day. */
  readonly account: JudgeAccount;
  /** The thing that keeps it from calling its model; null for none. */
  readonly obstacle: Obstacle | null;
}

/** Reads the states of judges, in their order. */
export async function readJudgeStates(
  { store, cards, models, now }: Pick<CallDeps, "store" | "cards" | "models" | "now">,
  team: TeamId,
  judges: readonly Judge[],
): Promise<readonly JudgeState[]> {
  const nowMs = now();
  const slugs = judges.map(({ slug }) => slug);
  const [accounts, card] = await Promise.all([
    readAccounts(store, team, slugs, nowMs),
    cards.card({ id: team }),
  ]);
  const connections = new Set(models.connections.map(({ name }) => name));
  return accounts.map((account, i) => {
    const judge = judges[i] as Judge;
    const { connection, model } = judge.settings;
    const rate = card.find(connection, model, nowMs)?.row;
    const hasConnection = connections.has(connection);
    return { account, obstacle: obstacleOf(judge, { account, rate, hasConnection }) };
  });
}
