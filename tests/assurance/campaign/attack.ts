/** Type of an attack: the requests that one team on the free plan sends to harm the service. */
import type { TeamId } from "../../../domain/core/ids.ts";
import type { Store } from "../../../kv/store.ts";
import type { Attacker } from "./attacker.ts";

export interface Attack {
  readonly name: string;
  /** One line of description: the requests, and what is large, slow or many about them. */
  readonly does: string;
  /**
   * Stores the data that the attack needs, and returns names of it, such as ids, cookies and paths.
   * Meanwhile the team is on the enterprise plan, to simulate days of preparation.
   */
  setUp?(attacker: Attacker): Promise<string[]>;
  /** Writes data into the ledger, with the service stopped, if requests would take too long. */
  fill?(store: Store, team: TeamId): Promise<void>;
  /** Attacks until the attacker's signal aborts. */
  run(attacker: Attacker, stored: readonly string[]): Promise<unknown>;
}
