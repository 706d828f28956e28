/**
 * `deno task assure shared-suite`: the tests over HTTP with their stores on a shared KV, served by
 * one instance and by three.
 *
 * With the variable DENOKV each test has a `denokv` of its own; otherwise all share a `KvServer`.
 */
import type { Io } from "../../../tools/command.ts";
import type { AssuranceOptions } from "../assurance.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { OWN_DENOKV } from "../../support/harness/test_kv.ts";

const ROOT = new URL("../../../", import.meta.url);

const FOLDERS = ["http", "dashboard"].flatMap((name) => [`tests/${name}`, `tests/push/${name}`]);

/** Test files of one process: few, because each leaves databases in memory. */
const FILES_AT_ONCE = 10;

const INSTANCES = [1, 3];

/** Runs the given test files, or all. The seed draws the instance of each request. */
export async function run({ parts, list, seed }: AssuranceOptions, io: Io): Promise<boolean> {
  const files = parts.length > 0 ? parts : FOLDERS.flatMap(testsIn);
  if (list) {
    files.forEach((file) => io.out(file));
    return true;
  }
  let failed = 0;
  for (const instances of INSTANCES) {
    io.out(`${instances} ${instances === 1 ? "instance" : "instances"}, seed ${seed}`);
    for (let at = 0; at < files.length; at += FILES_AT_ONCE) {
      await using kv = await openKv();
      const env = {
        RUNLEDGER_TEST_KV: kv.name,
        RUNLEDGER_TEST_INSTANCES: String(instances),
        RUNLEDGER_TEST_SEED: seed,
      };
      if (!await runTests(files.slice(at, at + FILES_AT_ONCE), env)) failed++;
    }
  }
  if (failed > 0) io.fail(`${failed} groups of test files failed`);
  return failed === 0;
}

/** Returns the KV of one group of test files; its name is the value of RUNLEDGER_TEST_KV. */
async function openKv(): Promise<AsyncDisposable & { readonly name: string }> {
  if (Deno.env.get("DENOKV")) return { name: OWN_DENOKV, async [Symbol.asyncDispose]() {} };
  const server = await KvServer.start();
  return {
    name: new URL(server.url()).origin,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Returns the test files of a folder, without those below it. */
function testsIn(folder: string): string[] {
  return [...Deno.readDirSync(new URL(folder, ROOT))]
    .filter(({ name }) => name.endsWith("_test.ts"))
    .map(({ name }) => `${folder}/${name}`)
    .sort();
}

async function runTests(files: readonly string[], env: Record<string, string>): Promise<boolean> {
  const lock = "--lock=tests/packages/development.lock";
  // The gates check types.
  const args = ["test", "--frozen", lock, "--no-prompt", "--no-check", "-A", ...files];
  const { success } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: ROOT,
    env,
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).output();
  return success;
}
