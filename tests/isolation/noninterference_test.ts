/** Three teams that share every id: what one of them does changes no byte of what another has or gets. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Tier } from "../../domain/plan/tiers.ts";
import { CALL_NAMES, type CallName, type Step } from "./calls.ts";
import { World } from "./world.ts";

/** A call of one of the teams, and whether it is made together with the one before. */
interface Turn {
  readonly member: number;
  readonly step: Step;
  readonly together: boolean;
}

const TIERS: readonly Tier[] = ["team", "free", "business"];

/** Calls whose outcome depends on most of what is kept. */
const OFTEN: readonly CallName[] = ["events", "beat", "mintedBeat", "finish", "putRate", "match"];

const steps: fc.Arbitrary<Step> = fc.record({
  call: fc.constantFrom(...CALL_NAMES, ...OFTEN, ...OFTEN),
  run: fc.integer({ min: 1, max: 4 }),
  agent: fc.nat(2),
  n: fc.nat(9),
  foreign: fc.boolean(),
});
const turns: fc.Arbitrary<Turn[]> = fc.noBias(fc.array(
  fc.record({ member: fc.nat(2), step: steps, together: fc.boolean() }),
  { minLength: 40, maxLength: 120, size: "max" },
));

/** Calls to make at once; never two of the first team, whose order would be chance. */
function groupsOf(turns: readonly Turn[]): [number, Step][][] {
  const groups: [number, Step][][] = [];
  for (const { member, step, together } of turns) {
    const last = groups.at(-1);
    const fits = last !== undefined && (member !== 0 || last.every(([other]) => other !== 0));
    if (together && fits) last.push([member, step]);
    else groups.push([[member, step]]);
  }
  return groups;
}

/** What the first team was told and has in the end. */
async function live(groups: readonly (readonly [number, Step])[][]) {
  await using world = await World.open(TIERS);
  for (const group of groups) await world.act(group);
  return { told: world.told(0), stored: await world.stored(0) };
}

Deno.test("decision 32: a team's answers and rows are the same bytes alone and among two others", async () => {
  const property = fc.asyncProperty(turns, async (script) => {
    const alone = script.filter(({ member }) => member === 0)
      .map(({ step }): [number, Step][] => [[0, step]]);
    const among = await live(groupsOf(script));
    const expected = await live(alone);
    assertEquals(among.told, expected.told);
    assertEquals(among.stored, expected.stored);
  });
  await fc.assert(property, { numRuns: 10 });
});
