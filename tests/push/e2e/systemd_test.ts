/** Tests that the unit in `docs/OPERATIONS.md` starts the service with the permissions it lists. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { KV_TOKEN } from "../../support/harness/kv_client.ts";
import { KvServer } from "../../support/harness/kv_server.ts";
import { Process } from "../../support/harness/process.ts";
import { withFolder } from "../../support/harness/temp_store.ts";

const ROOT = new URL("../../../", import.meta.url);
const KEY = `apk_eu_${"5e".repeat(16)}`;
/** The unit's only folder. */
const FOLDER = "/var/lib/runledger";
const DENO = "/usr/local/bin/deno ";

function read(path: string): string {
  return Deno.readTextFileSync(new URL(path, ROOT));
}

function commandOfUnit(): string {
  return /^ExecStart=(.+)$/m.exec(read("docs/OPERATIONS.md"))?.[1] ?? "";
}

/** Fails unless the service answers calls and pages. */
async function answersAll({ url }: Process): Promise<void> {
  const headers = { Authorization: `Bearer ${KEY}` };
  for (const path of ["/readyz", "/v1/ping?agent=a", "/v1/spend", "/docs", "/dashboard/sign-in"]) {
    const answer = await fetch(url + path, { headers });
    await answer.body?.cancel();
    assertEquals(answer.status, 200, path);
  }
}

Deno.test("systemd: the unit runs the task's command, with folders to read and write", () => {
  const { command } = JSON.parse(read("deno.json")).tasks.start;
  const narrowed = command
    .replace("deno ", DENO)
    .replace(" -R ", ` -R=${FOLDER} `)
    .replace(" -W ", ` -W=${FOLDER} `);
  assertEquals(commandOfUnit(), narrowed);
  assertMatch(read("docs/OPERATIONS.md"), new RegExp(`^Environment=RUNLEDGER_KV=${FOLDER}/`, "m"));
});

Deno.test("systemd: the unit's command serves calls and pages, and reads and writes its folder alone", async () => {
  await withFolder(async (folder) => {
    const command = commandOfUnit();
    assert(command.startsWith(DENO), command);
    const args = command.slice(DENO.length).replaceAll(FOLDER, folder);
    const launcher = ["sh", "-c", `exec '${Deno.execPath()}' ${args}`];
    const settings = { RUNLEDGER_KV: `${folder}/ledger.kv`, RUNLEDGER_KEY: KEY };
    await using process = await Process.startBy(launcher, settings);
    await answersAll(process);
    assertEquals((await process.stop()).code, 0);
    const elsewhere = { ...settings, RUNLEDGER_KV: `${folder}-other/ledger.kv` };
    await Process.startBy(launcher, elsewhere).then(
      () => assert(false, "it wrote elsewhere"),
      (error) => assertMatch(error.message, /Requires (read|write) access/),
    );
  });
});

Deno.test("systemd: an instance over a shared KV serves calls and pages without any file", async () => {
  const lines = [...read("docs/OPERATIONS.md").matchAll(/^ExecStart=(.+)$/gm)];
  const command = lines.map(([, command = ""]) => command)
    .find((command) => command.endsWith("main.ts") && !command.includes(" -R")) ?? "";
  assertEquals(command, commandOfUnit().replace(/ -[RW]=\S+/g, ""));
  await using kv = await KvServer.start();
  const launcher = ["sh", "-c", `exec '${Deno.execPath()}' ${command.slice(DENO.length)}`];
  const settings = { RUNLEDGER_KV: kv.url(), RUNLEDGER_KV_TOKEN: KV_TOKEN, RUNLEDGER_KEY: KEY };
  await using process = await Process.startBy(launcher, settings);
  await answersAll(process);
  assertEquals((await process.stop()).code, 0);
});
