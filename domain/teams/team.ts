/**
 * Teams, managed by the operator of the service.
 *
 * @module
 */
import type { TeamId } from "../core/ids.ts";
import type { Planned, Rate } from "./plans.ts";

/** Tenant: owns data and is billed. */
export interface Team extends Planned {
  /** Identifier, part of every storage key of the team. Reveals nothing about other teams. */
  readonly id: TeamId;
  /** Name for people. */
  readonly name: string;
  /** Recipient of notices; absent to send none. */
  readonly ownerEmail?: string;
  /** Request rate that overrides the plan's (decision 36). */
  readonly rate?: Rate;
  /** Time of creation, unix milliseconds; absent on a team created by the settings. */
  readonly createdAt?: number;
  /** Start of the suspension, unix milliseconds; absent while the team is active. */
  readonly suspendedAt?: number;
}

/** Author of a change: identifier of the credential, and the time, for the audit log. */
export interface MadeBy {
  /** Identifier of the credential. */
  readonly by: string;
  /** Time, unix milliseconds. */
  readonly at: number;
}
