/** The child process that attacks: sets one attack up, or runs it until it is asked to end. */
import { ATTACKS } from "./attacks.ts";
import { Attacker, type Counts, type Target } from "./attacker.ts";
import { workAsChild } from "./child.ts";

/** What the child is to do. */
export interface AttackOrder extends Target {
  readonly name: string;
  /** What the set-up left behind; absent to do the set-up. */
  readonly state?: { readonly of: unknown };
}

/** What became of an attack, as its sender saw it. */
export interface Attacked {
  readonly counts: Counts;
  readonly blames: readonly string[];
}

/** Milliseconds that requests under way may take after the end. */
const AFTER_MS = 3_000;

if (import.meta.main) {
  await workAsChild(async (order: AttackOrder, begin, signal) => {
    const attack = ATTACKS.find(({ name }) => name === order.name);
    if (attack === undefined) throw new Error(`There is no attack "${order.name}"`);
    const attacker = new Attacker(order, signal);
    begin();
    if (order.state === undefined) return await attack.setUp?.(attacker) ?? null;
    const running = attack.run(attacker, order.state.of);
    const { promise: late, resolve } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => setTimeout(resolve, AFTER_MS), { once: true });
    await Promise.race([running, late]);
    return { counts: attacker.counts, blames: attacker.blames } satisfies Attacked;
  });
}
