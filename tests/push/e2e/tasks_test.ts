/** Tests the tasks that newcomers run: help, termination, and packages of production. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Harness } from "../../support/harness/harness.ts";
import { Process } from "../../support/harness/process.ts";
import { inFolder } from "../../support/harness/temp_store.ts";
import { runTask, runTaskWith } from "../../support/harness/tools.ts";

/** Returns true if a port of this machine accepts connections. */
async function isOpen(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  try {
    (await Deno.connect({ hostname, port: Number(port) })).close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.ConnectionRefused) return false;
    throw error;
  }
}

Deno.test("help: every tool prints its own help and ends with 0", async () => {
  const tools = ["dev", "start", "verify", "jobs", "sweep", "backup"];
  for (const tool of [...tools, "restore", "rates"]) {
    const { code, stdout, stderr } = await runTask(tool, "--help");
    assertEquals([code, stderr], [0, ""], tool);
    assertMatch(stdout, new RegExp(`^deno task ${tool === "start" ? "dev" : tool}\\b`), tool);
  }
});

inFolder.test("SIGTERM to the task ends the task and the server below it", async (folder) => {
  for (const task of ["dev", "start"]) {
    await using process = await Process.startTask(task, { RUNLEDGER_KV: `${folder}/${task}.kv` });
    assert(await isOpen(process.url));
    const { code, signal } = await process.stop("SIGTERM");
    assertEquals([code, signal], [0, null], task);
    assertEquals(await isOpen(process.url), false, "the server still runs");
  }
});

inFolder.test("start: without TLS it warns on all interfaces, with advice, and not on the loopback interface", async (folder) => {
  for (const HOST of ["0.0.0.0", "127.0.0.1"]) {
    await using process = await Process.start({ HOST, RUNLEDGER_KV: `${folder}/test.kv` });
    const { stderr } = await process.stop();
    const warning = /HOST=0\.0\.0\.0: .*without TLS.*\n.*HOST=127\.0\.0\.1.*OPERATIONS\.md#tls\n/;
    assertEquals(warning.test(stderr), HOST === "0.0.0.0", stderr);
  }
});

Deno.test("dev: a sweep that removed nothing stays out of the log", async () => {
  for (const dev of [true, false]) {
    await using h = await Harness.open({ dev });
    assert(await h.sweep.sweepNow() !== null);
    assertEquals(h.log.filter((line) => line.includes('"sweep"')).length, dev ? 0 : 1);
  }
});

Deno.test("packages: a start on an empty machine fetches only the service's", async () => {
  const folder = await Deno.makeTempDir({ prefix: "runledger-packages-" });
  try {
    const { code, stderr } = await runTaskWith({ DENO_DIR: folder }, "start", "--help");
    assertEquals(code, 0, stderr);
    const registries = [...Deno.readDirSync(`${folder}/npm`)].map(({ name }) => name);
    const names = registries.flatMap((registry) =>
      [...Deno.readDirSync(`${folder}/npm/${registry}`)].map(({ name }) => name)
    );
    assert(names.includes("hono") && !names.includes("playwright-core"), names.join());
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
