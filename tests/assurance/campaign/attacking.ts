/** Worker that attacks: sets up one attack, or runs it until it is stopped. */
import { ATTACKS } from "./attacks.ts";
import { Attacker, type Counts, type Target } from "./attacker.ts";
import { workAsPeer } from "./peer.ts";

export interface AttackOrder extends Target {
  readonly name: string;
  /** Result of the set-up; null to run the set-up. */
  readonly stored: readonly string[] | null;
}

/** Result of an attack, as the attacker saw it. */
export interface Attacked {
  readonly counts: Counts;
  readonly blames: readonly string[];
}

/** Milliseconds that requests in flight may take after the end. */
const AFTER_MS = 3_000;

workAsPeer(async ({ name, stored, ...target }: AttackOrder, begin, signal) => {
  const attack = ATTACKS.find((attack) => attack.name === name);
  if (attack === undefined) throw new Error(`There is no attack "${name}"`);
  const attacker = new Attacker(target, signal);
  begin();
  if (stored === null) return await attack.setUp?.(attacker) ?? [];
  const { promise: deadline, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => setTimeout(resolve, AFTER_MS), { once: true });
  await Promise.race([attack.run(attacker, stored), deadline]);
  return { counts: attacker.counts, blames: attacker.blames } satisfies Attacked;
});
