/** Teams with keys that the load generator can work out: team number `n` has the key `n` in hex. */
import { createCredentialStore, ensureFirstTeam, insertTeam } from "../kv/teams/credentials.ts";
import { keys } from "../kv/base/keys.ts";
import { getMany, type Store } from "../kv/store.ts";

const REGION = "eu";
const SPEC = { name: "bench", grant: { kind: "api_key", scopes: ["ingest", "read"] } } as const;

/** The key of team number `n`. */
export function keyOf(n: number): string {
  return `apk_${REGION}_${hexOf(n)}`;
}

function hexOf(n: number): string {
  return n.toString(16).padStart(32, "0");
}

/**
 * Creates teams 1 to `count`, none with a request rate. On a file that has them, `count` must be 1, and
 * the team stays on its plan.
 */
export async function createTeams(store: Store, count: number): Promise<void> {
  let secret: Uint8Array | null = null;
  const environment = {
    now: () => Date.now(),
    // A new secret is 16 random bytes: here they are the team's number.
    random: (bytes: number) =>
      bytes === secret?.length ? secret : crypto.getRandomValues(new Uint8Array(bytes)),
  };
  const options = { region: REGION, refusedSecret: null } as const;
  const credentials = createCredentialStore(store, environment, options);
  const [known] = await getMany(store, [keys.firstTeam()]);
  const tier = known?.versionstamp ? null : "enterprise";
  const first = { region: REGION, key: keyOf(1), tier } as const;
  await ensureFirstTeam(store, credentials, environment, first);
  for (let n = 2; n <= count; n++) {
    const team = await insertTeam(store, "enterprise");
    secret = Uint8Array.fromHex(hexOf(n));
    const created = await credentials.create(team, SPEC, "bench");
    if (created.secret !== keyOf(n)) throw new Error(`Team ${n} got another key than is sent`);
  }
}
