/** An attack as it is written down: what one team on the plan free does to the service. */
import type { TeamId } from "../../../domain/core/ids.ts";
import type { Store } from "../../../kv/store.ts";
import type { Attacker } from "./attacker.ts";

/** An attack; `State` is what its set-up leaves behind, as JSON. */
export interface AttackOf<State> {
  readonly name: string;
  /** The finding of the security review that it plays, or null for one more of its kind. */
  readonly finding: string | null;
  /** One line for people: the requests, and what is large, slow or many about them. */
  readonly does: string;
  /**
   * Stores what the attack needs. The team is on the plan enterprise meanwhile, as one that took days
   * over it, and the service starts again before the attack.
   */
  setUp?(attacker: Attacker): Promise<State>;
  /** Writes into the ledger what takes too long by requests, while the service is stopped. */
  fill?(store: Store, team: TeamId): Promise<void>;
  /** Attacks until the attacker's signal aborts. */
  run(attacker: Attacker, state: State): Promise<unknown>;
}

/** Any attack. */
export type Attack = AttackOf<unknown>;

/** Writes an attack down, the state of its set-up and of its run being the same. */
export function attack<State = undefined>(written: AttackOf<State>): Attack {
  return written;
}
