/**
 * The contract of the store of rate cards.
 *
 * @module
 */
import type { Team } from "../teams/team.ts";
import type { RateCard, RateRow } from "./rates.ts";
import type { Problem } from "../core/errors.ts";
import type { PricedModels } from "./nearest_model.ts";
import type { RateSpec } from "./rate_body.ts";

/** Where the price of a call is looked up. */
export interface RateCards {
  /** The team's card as it is now; at once when it is in memory. */
  card(team: Pick<Team, "id">): RateCard | Promise<RateCard>;
}

/** A team's own row, and where it comes from. */
export interface OwnRate {
  /** The row. */
  readonly row: RateRow;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Identifier of the credential that put it. */
  readonly createdBy: string;
  /** Why it is so, for people. */
  readonly note?: string;
}

/** The outcome of putting a row. */
export type PutRateOutcome =
  | { readonly kind: "stored" | "replayed"; readonly rate: OwnRate }
  | { readonly kind: "refused"; readonly problem: Problem };

/** The rate cards of all teams. A change is seen at once here, within 10 s in other processes. */
export interface RateCardStore extends RateCards {
  /** The priced models of the team's card, own and default ones. */
  models(team: Pick<Team, "id">): Promise<PricedModels>;
  /** The team's own rows as stored, by model, provider and date. */
  rows(team: Team): Promise<readonly OwnRate[]>;
  /**
   * Puts a row in the place of the one for the same provider, model and date, if there is one.
   * Putting the same again changes nothing.
   *
   * @param by identifier of the credential that does it
   */
  put(team: Team, spec: RateSpec, by: string): Promise<PutRateOutcome>;
  /** Deletes an own row; null when the team has none of that id. */
  delete(team: Team, id: string, by: string): Promise<OwnRate | null>;
}
