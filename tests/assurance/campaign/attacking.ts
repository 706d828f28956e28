/** Child process that attacks: sets up one attack, or runs it until its parent stops it. */
import { ATTACKS } from "./attacks.ts";
import { Attacker, type Counts, type Target } from "./attacker.ts";
import { workAsChild } from "./child.ts";

/** Work for the child process. */
export interface AttackOrder extends Target {
  readonly name: string;
  /** Result of the set-up; absent to run the set-up. */
  readonly state?: { readonly of: unknown };
}

/** Result of an attack, as the attacker saw it. */
export interface Attacked {
  readonly counts: Counts;
  readonly blames: readonly string[];
}

/** Milliseconds that requests in flight may take after the end. */
const AFTER_MS = 3_000;

if (import.meta.main) {
  await workAsChild(async (order: AttackOrder, begin, signal) => {
    const attack = ATTACKS.find(({ name }) => name === order.name);
    if (attack === undefined) throw new Error(`There is no attack "${order.name}"`);
    const attacker = new Attacker(order, signal);
    begin();
    if (order.state === undefined) return await attack.setUp?.(attacker) ?? null;
    const running = attack.run(attacker, order.state.of);
    const { promise: deadline, resolve } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => setTimeout(resolve, AFTER_MS), { once: true });
    await Promise.race([running, deadline]);
    return { counts: attacker.counts, blames: attacker.blames } satisfies Attacked;
  });
}
