/** Selection and duration of attacks, from the command line. */
import { UsageError } from "../../../tools/command.ts";
import type { AssuranceOptions } from "../assurance.ts";
import type { Attack } from "./attack.ts";

/** Options of one campaign run. */
export interface CampaignOptions {
  readonly attacks: readonly Attack[];
  readonly seconds: number;
  /** Only list the attacks. */
  readonly list: boolean;
  /** File for the results as JSON, or null. */
  readonly json: string | null;
}

/** Selects attacks by name, or by a finding such as H4. */
export function chooseAttacks(
  { parts, count, list, json }: AssuranceOptions,
  all: readonly Attack[],
): CampaignOptions {
  const matches = (attack: Attack, selector: string) =>
    attack.name === selector || attack.finding === selector;
  const unknown = parts.find((selector) => !all.some((attack) => matches(attack, selector)));
  if (unknown !== undefined) {
    throw new UsageError(`There is no attack "${unknown}": --list names them`);
  }
  if (!(count > 0 && count <= 3_600)) {
    throw new UsageError("--count, the seconds of an attack, must be above 0 and at most 3600");
  }
  const attacks = parts.length === 0
    ? all
    : all.filter((attack) => parts.some((selector) => matches(attack, selector)));
  return { attacks, seconds: count, list, json };
}
