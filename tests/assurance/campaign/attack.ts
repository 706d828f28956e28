/** Type of an attack: the requests that one team on the free plan sends to harm the service. */
import type { TeamId } from "../../../domain/core/ids.ts";
import type { Store } from "../../../kv/store.ts";
import type { Attacker } from "./attacker.ts";

/** An attack; `State` is the JSON result of its set-up. */
export interface AttackOf<State> {
  readonly name: string;
  /** Finding of the security review that the attack plays, or null for an additional attack. */
  readonly finding: string | null;
  /** One line of description: the requests, and what is large, slow or many about them. */
  readonly does: string;
  /**
   * Stores the data that the attack needs. Meanwhile the team is on the enterprise plan, to
   * simulate days of preparation. The service restarts before the attack.
   */
  setUp?(attacker: Attacker): Promise<State>;
  /**
   * Writes data directly into the ledger, with the service stopped, if requests would take too
   * long.
   */
  fill?(store: Store, team: TeamId): Promise<void>;
  /** Attacks until the attacker's signal aborts. */
  run(attacker: Attacker, state: State): Promise<unknown>;
}

/** Any attack. */
export type Attack = AttackOf<unknown>;

/** Defines an attack; checks that the set-up and the run have the same state type. */
export function attack<State = undefined>(written: AttackOf<State>): Attack {
  return written;
}
