/** Tests the server's help, and the packages of each task. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { SETTING_NAMES } from "../../app/config.ts";
import { runToEnd } from "../support/harness/process.ts";
import { inFolder } from "../support/harness/temp_store.ts";

const ROOT = new URL("../../", import.meta.url);

function readJson(path: string) {
  return JSON.parse(Deno.readTextFileSync(new URL(path, ROOT)));
}

inFolder.test("help: the server lists its settings and ends with 0, and opens no ledger", async (folder) => {
  const { code, stdout, stderr } = await runToEnd(
    { RUNLEDGER_KV: `${folder}/test.kv`, PORT: "wrong" },
    "--dev",
    "--help",
  );
  assertEquals([code, stderr], [0, ""]);
  for (const name of SETTING_NAMES) assertStringIncludes(stdout, name);
  assertEquals(await Array.fromAsync(Deno.readDir(folder)), []);
});

/** Returns an entry without versions of dependencies, which are only there if a lock has several. */
// deno-lint-ignore no-explicit-any -- any part of a lock file
function unversioned(entry: any): unknown {
  if (entry?.dependencies === undefined) return entry;
  return {
    ...entry,
    dependencies: entry.dependencies.map((name: string) => name.replace(/(?<=.)@.*/, "")),
  };
}

Deno.test("packages: the default lock has only the service's, with the versions of the other lock", () => {
  const [all, production] = [readJson("tests/packages/development.lock"), readJson("deno.lock")];
  for (const section of ["specifiers", "npm"]) {
    for (const [name, entry] of Object.entries(production[section])) {
      assertEquals(
        unversioned(entry),
        unversioned(all[section][name]),
        `${name}: run deno task lock`,
      );
    }
  }
  const rows = Deno.readTextFileSync(new URL("docs/DEPENDENCIES.md", ROOT)).split("\n");
  for (const [name, target] of Object.entries<string>(readJson("deno.json").imports)) {
    const hasRow = rows.some((row) => row.startsWith(`| \`${name}\``));
    const isPackage = target.startsWith("npm:");
    assertEquals(hasRow, isPackage || target.startsWith("./routes/"), name);
    assertEquals(target in production.specifiers, isPackage, name);
    // The module that pins a package of tests says what it is for.
    if (!hasRow) assertMatch(Deno.readTextFileSync(new URL(target, ROOT)), /^\/[/*]/, target);
  }
});

Deno.test("packages: users' tasks use the default lock, tasks of tests and benchmarks the other", () => {
  const { tasks, lock } = readJson("deno.json");
  assertEquals(lock, { path: "./deno.lock", frozen: true });
  for (const [name, { command }] of Object.entries<{ command: string }>(tasks)) {
    if (name === "lock" || !/ (main\.ts|(tools|tests|bench)\/\S+)/.test(command)) continue;
    const isForUsers = / (main\.ts|tools\/(?!rates|docs)\S+)/.test(command);
    assertEquals(!command.includes("--lock="), isForUsers, name);
  }
});
