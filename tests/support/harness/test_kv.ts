/**
 * Where tests that open a `Harness` store: in files, or in databases of a shared KV.
 *
 * `RUNLEDGER_TEST_KV` is the origin of a `KvServer`, or `denokv` to start one for each test. Then
 * `RUNLEDGER_TEST_INSTANCES` instances of the service serve each test. Tests that need a file or a
 * single instance are skipped by name.
 */
import { denokvCommand, KvProcess } from "../fakes/denokv.ts";

/** Value of `RUNLEDGER_TEST_KV` with which each test has a `denokv` of its own. */
export const OWN_DENOKV = "denokv";

const KV = Deno.env.get("RUNLEDGER_TEST_KV");

/** Instances of the service in each harness. */
export const INSTANCES = Number(Deno.env.get("RUNLEDGER_TEST_INSTANCES") ?? 1);

/** True if each service has a file of its own. */
export const IN_FILES = KV === undefined;

/** A database of a shared KV. */
export interface Database extends AsyncDisposable {
  readonly url: string;
}

/**
 * Opens a new database of the shared KV; null without one.
 *
 * @param folder folder for its file, if it has one
 */
export async function openDatabase(folder: string): Promise<Database | null> {
  if (KV === undefined) return null;
  if (KV !== OWN_DENOKV) {
    return {
      url: `${KV}/db/${crypto.randomUUID()}`,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }
  const command = denokvCommand();
  if (command === null) throw new Error("denokv is not installed: set DENOKV to its path");
  return await KvProcess.start(folder, command);
}

/** A test that reads the store's file, or knows which commits an embedded store makes. */
export function ofFile(name: string, test: (t: Deno.TestContext) => void | Promise<void>): void {
  Deno.test({ name, ignore: !IN_FILES, fn: test });
}

/**
 * A test of something that each instance has for itself, such as its metrics and its limits of
 * concurrency.
 */
export function ofInstance(
  name: string,
  test: (t: Deno.TestContext) => void | Promise<void>,
): void {
  Deno.test({ name, ignore: INSTANCES > 1, fn: test });
}
