/**
 * Tests that calls of one team change no byte of another team's data or responses, although three
 * teams share every id.
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Tier } from "../../../domain/teams/plans.ts";
import { CALL_NAMES, type CallName, type Step } from "../../assurance/tenancy/calls.ts";
import { World } from "../../assurance/tenancy/world.ts";
import { SEED } from "../../support/harness/seed.ts";

/** A call of one of the teams, and whether it runs in parallel with the one before. */
interface Turn {
  readonly member: number;
  readonly step: Step;
  readonly together: boolean;
}

const TIERS: readonly Tier[] = ["team", "free", "business"];

/** Calls whose outcome depends on most of the stored data. */
const OFTEN: readonly CallName[] = ["events", "beat", "mintedBeat", "finish", "putRate", "match"];

const steps: fc.Arbitrary<Step> = fc.record({
  call: fc.constantFrom(...CALL_NAMES, ...OFTEN, ...OFTEN),
  run: fc.integer({ min: 1, max: 4 }),
  // Usually the same few; the complete set exceeds the agent limit of the smallest plan.
  agent: fc.oneof(fc.nat(2), fc.nat(14)),
  n: fc.nat(9),
  foreign: fc.boolean(),
});
const turns: fc.Arbitrary<Turn[]> = fc.noBias(fc.array(
  fc.record({ member: fc.nat(2), step: steps, together: fc.boolean() }),
  { minLength: 90, maxLength: 150, size: "max" },
));

/** Groups calls to run in parallel; never two of the observed team, whose order would be random. */
function groupsOf(turns: readonly Turn[], observed: number): [number, Step][][] {
  const groups: [number, Step][][] = [];
  for (const { member, step, together } of turns) {
    const last = groups.at(-1);
    const isAlone = last?.every(([other]) => other !== observed) ?? false;
    if (last !== undefined && together && (member !== observed || isAlone)) {
      last.push([member, step]);
    } else groups.push([[member, step]]);
  }
  return groups;
}

/** Returns the final responses and data of a team. */
async function live(turns: readonly Turn[], observed: number) {
  await using world = await World.open(TIERS, observed);
  for (const group of groupsOf(turns, observed)) await world.act(group);
  return { answers: world.answers(), stored: await world.stored() };
}

Deno.test("decision 32: a team's answers and rows are the same bytes alone and next to two other teams", async () => {
  const property = fc.asyncProperty(turns, fc.nat(2), async (script, observed) => {
    const among = await live(script, observed);
    const alone = await live(script.filter(({ member }) => member === observed), observed);
    assertEquals(among.answers, alone.answers);
    assertEquals(among.stored, alone.stored);
  });
  await fc.assert(property, { seed: SEED, numRuns: 12, endOnFailure: true });
});
