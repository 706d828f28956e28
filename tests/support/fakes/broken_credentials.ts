/** A credential store in which every operation fails. */
import type { CredentialStore } from "../../../kv/teams/credentials.ts";

/** Every method does the same: throws, or returns a promise that rejects. */
export function brokenCredentials(fail: () => never | Promise<never>): CredentialStore {
  const find = fail as CredentialStore["find"];
  const broken = fail as () => Promise<never>;
  return {
    find,
    create: broken,
    read: broken,
    list: broken,
    revoke: broken,
    rotate: broken,
    forget: () => void fail(),
    writeUses: broken,
  };
}
