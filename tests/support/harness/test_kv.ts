/**
 * Where tests that open a {@link Harness} store: in files, or in databases of a shared KV.
 *
 * `RUNLEDGER_TEST_KV` is the origin of a `KvServer`; then `RUNLEDGER_TEST_INSTANCES` instances of
 * the service serve each test. Tests that need a file or a single instance are then skipped by name.
 */
const ORIGIN = Deno.env.get("RUNLEDGER_TEST_KV");

/** Instances of the service in each harness. */
export const INSTANCES = Number(Deno.env.get("RUNLEDGER_TEST_INSTANCES") ?? 1);

/** Returns the URL of a new database of the shared KV; null without one. */
export function newDatabase(): string | null {
  return ORIGIN === undefined ? null : `${ORIGIN}/db/${crypto.randomUUID()}`;
}

/** A test that reads the store's file, or knows which commits an embedded store makes. */
export function ofFile(name: string, test: () => void | Promise<void>): void {
  Deno.test({ name, ignore: ORIGIN !== undefined, fn: test });
}

/**
 * A test of something that each instance has for itself, such as its metrics and its limits of
 * concurrency.
 */
export function ofInstance(name: string, test: () => void | Promise<void>): void {
  Deno.test({ name, ignore: INSTANCES > 1, fn: test });
}
