/**
 * Teams as the operator of the service makes and changes them.
 *
 * @module
 */
import type { TeamId } from "../core/ids.ts";
import type { Rate } from "../core/token_bucket.ts";
import type { Planned } from "./plans.ts";

/** Who is billed and whose data it is. */
export interface Team extends Planned {
  /** Identifier, part of every key of the team's data. It says nothing about any other team's. */
  readonly id: TeamId;
  /** Name for people. */
  readonly name: string;
  /** Where notices are sent; absent when nobody is to get them. */
  readonly ownerEmail?: string;
  /** Request rate in place of the plan's (decision 36). */
  readonly rate?: Rate;
  /** Unix milliseconds; absent on a team that the settings create. */
  readonly createdAt?: number;
  /** Since when every call of it is refused, unix milliseconds; absent while it is served. */
  readonly suspendedAt?: number;
}
