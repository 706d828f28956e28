/**
 * The contract of what seals the secrets of channels (decision 52).
 *
 * @module
 */
import type { TeamId } from "../core/ids.ts";
import type { SealedSecret } from "./channel.ts";

/** Place of a secret: a sealed text cannot be opened at another one. */
export interface SecretPlace {
  /** The team. */
  readonly team: TeamId;
  /** Kind and slug of the object, such as `channel/ops`. */
  readonly object: string;
  /** Name of the field. */
  readonly field: string;
}

/** Seals secrets with a key that is not in the store. */
export interface Sealer {
  /** Seals a secret; null without a key. */
  seal(place: SecretPlace, secret: string): Promise<SealedSecret | null>;
  /** Opens a secret; null if it was sealed with another key or for another place. */
  open(place: SecretPlace, secret: SealedSecret): Promise<string | null>;
}
