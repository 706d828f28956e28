/** Which attacks are played, and for how long, from the command line. */
import { UsageError } from "../../../tools/command.ts";
import type { AssuranceOptions } from "../assurance.ts";
import type { Attack } from "./attack.ts";

/** A run of the campaign. */
export interface CampaignOptions {
  readonly attacks: readonly Attack[];
  readonly seconds: number;
  /** Only names the attacks. */
  readonly list: boolean;
  /** File that results are written to as JSON; null for none. */
  readonly json: string | null;
}

/** Chooses attacks by name, or by a finding such as H4. */
export function chooseAttacks(
  { parts, count, list, json }: AssuranceOptions,
  all: readonly Attack[],
): CampaignOptions {
  const matches = (attack: Attack, wanted: string) =>
    attack.name === wanted || attack.finding === wanted;
  const unknown = parts.find((wanted) => !all.some((attack) => matches(attack, wanted)));
  if (unknown !== undefined) {
    throw new UsageError(`There is no attack "${unknown}": --list names them`);
  }
  if (!(count > 0 && count <= 3_600)) {
    throw new UsageError("--count, the seconds of an attack, must be above 0 and at most 3600");
  }
  const attacks = parts.length === 0
    ? all
    : all.filter((attack) => parts.some((wanted) => matches(attack, wanted)));
  return { attacks, seconds: count, list, json };
}
