/**
 * `deno task assure campaign`: plays attacks by one team on the free plan, each on a new service
 * with 512 MB of heap. A promise is broken if a second team notices an attack.
 */
import type { Attack } from "./attacker.ts";
import { print, say } from "../../../bench/report.ts";
import { UsageError } from "../../../tools/command.ts";
import { withFolder } from "../../support/harness/temp_store.ts";
import type { AssuranceOptions } from "../assurance.ts";
import { ATTACKS } from "./attacks.ts";
import { judge, lineOf } from "./judge.ts";
import { play } from "./play.ts";

/** Plays an attack; one whose set-up or harness failed counts as broken. */
async function holds(attack: Attack, seconds: number): Promise<boolean> {
  say(`${attack.name} …`);
  try {
    const measured = await withFolder((folder) => play(attack, seconds, folder));
    const broken = judge(measured);
    const verdict = broken.length === 0 ? "held" : `BROKEN: ${broken.join("; ")}`;
    print(`${attack.name}: ${lineOf(measured)}: ${verdict}`);
    return broken.length === 0;
  } catch (error) {
    print(`${attack.name}: BROKEN: the attack did not complete: ${error}`);
    return false;
  }
}

/** Plays the selected attacks, or all. */
export async function run({ parts, count, list }: AssuranceOptions): Promise<boolean> {
  const unknown = parts.find((part) => !ATTACKS.some(({ name }) => name === part));
  if (unknown !== undefined) {
    throw new UsageError(`There is no attack "${unknown}": --list names them`);
  }
  const attacks = ATTACKS.filter(({ name }) => parts.length === 0 || parts.includes(name));
  if (list) {
    for (const { name, does } of attacks) print(`${name}: ${does}`);
    return true;
  }
  let passed = 0;
  for (const attack of attacks) passed += Number(await holds(attack, count));
  print(`${attacks.length} attacks, ${passed} held, ${attacks.length - passed} broken`);
  return passed === attacks.length;
}
