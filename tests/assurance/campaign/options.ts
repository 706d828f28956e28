/** Which attacks are played, and for how long, from the command line. */
import { parseArgs } from "node:util";
import type { Attack } from "./attack.ts";

/** A run of the command. */
export interface Options {
  readonly attacks: readonly Attack[];
  readonly seconds: number;
  /** Only names the attacks. */
  readonly list: boolean;
  /** Where the results go as JSON; null for nowhere. */
  readonly json: string | null;
}

const USAGE = `Usage: deno task attack [NAMES…] [--seconds=60] [--list] [--json=FILE]
  NAMES      attacks by name, or a finding such as H4; all when absent
  --seconds  how long each attack lasts
  --list     only names the attacks
  --json     writes the results to a file, after each attack`;

/** Reads the arguments; a text says what is wrong with them. */
export function parseOptions(args: string[], all: readonly Attack[]): Options | string {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        seconds: { type: "string", default: "60" },
        list: { type: "boolean", default: false },
        json: { type: "string" },
      },
    });
    const matches = (attack: Attack, wanted: string) =>
      attack.name === wanted || attack.finding === wanted;
    const unknown = positionals.find((wanted) => !all.some((attack) => matches(attack, wanted)));
    if (unknown !== undefined) return `There is no attack "${unknown}": --list names them`;
    const seconds = Number(values.seconds);
    if (!(seconds > 0 && seconds <= 3_600)) return `--seconds must be above 0 and at most 3600`;
    const attacks = positionals.length === 0
      ? all
      : all.filter((attack) => positionals.some((wanted) => matches(attack, wanted)));
    return { attacks, seconds, list: values.list, json: values.json ?? null };
  } catch (error) {
    return `${error instanceof Error ? error.message : error}\n${USAGE}`;
  }
}
