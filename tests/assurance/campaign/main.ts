/**
 * `deno task assure campaign`: plays attacks by one team on the free plan, each on a new service
 * with 512 MB of heap. A promise is broken if a second team notices an attack.
 */
import { print, say } from "../../../bench/report.ts";
import { withFolder } from "../../support/harness/temp_store.ts";
import type { AssuranceOptions } from "../assurance.ts";
import { type CampaignOptions, chooseAttacks } from "./options.ts";
import { ATTACKS } from "./attacks.ts";
import type { Attack } from "./attack.ts";
import { MemoryGroup } from "./cgroup.ts";
import { BARS } from "./judge.ts";
import { play, type Played } from "./play.ts";

/** Far above the bar: only unlimited growth reaches it. */
const GROUP_BYTES_MAX = 2 ** 30;

/** Plays an attack; one whose set-up or harness failed counts as broken. */
async function playOrFail(
  attack: Attack,
  { seconds }: CampaignOptions,
  group: MemoryGroup | null,
): Promise<Played | null> {
  say(`${attack.name} …`);
  try {
    const played = await withFolder((folder) => play(attack, seconds, folder, group));
    const { line, broken } = played;
    const verdict = broken.length === 0 ? "held" : `BROKEN: ${broken.join("; ")}`;
    print(`${titleOf(attack)}: ${line}: ${verdict}`);
    return played;
  } catch (error) {
    print(`${titleOf(attack)}: BROKEN: the attack did not complete: ${error}`);
    return null;
  }
}

function titleOf({ name, finding }: Attack): string {
  return finding === null ? name : `${name} (${finding})`;
}

/** Plays the selected attacks. */
export async function run(selected: AssuranceOptions): Promise<boolean> {
  const options = chooseAttacks(selected, ATTACKS);
  if (options.list) {
    for (const attack of options.attacks) print(`${titleOf(attack)}: ${attack.does}`);
    return true;
  }
  const created = await MemoryGroup.create(GROUP_BYTES_MAX);
  const group = typeof created === "string" ? null : created;
  if (group === null) say(`Running without a control group of 1 GB: ${created}`);
  else say(`Running in a control group of 1 GB: ${group.folder}`);
  const played: Played[] = [];
  try {
    for (const attack of options.attacks) {
      const result = await playOrFail(attack, options, group);
      if (result !== null) played.push(result);
      if (options.json !== null) await write(options.json, options, group, played);
    }
  } finally {
    await group?.[Symbol.asyncDispose]();
  }
  const unbroken = played.filter(({ broken }) => broken.length === 0).length;
  const broken = options.attacks.length - unbroken;
  print(`${options.attacks.length} attacks, ${unbroken} held, ${broken} broken`);
  return broken === 0;
}

/** Writes the results after each attack: a run of all attacks takes more than an hour. */
async function write(
  file: string,
  { seconds }: CampaignOptions,
  group: MemoryGroup | null,
  attacks: readonly Played[],
): Promise<void> {
  const machine = { processors: navigator.hardwareConcurrency, deno: Deno.version.deno };
  const text = JSON.stringify(
    { seconds, controlGroup: group !== null, bars: BARS, machine, attacks },
    null,
    1,
  );
  await Deno.writeTextFile(file, `${text}\n`);
}
