/** Tests that the unit in `docs/OPERATIONS.md` starts the service with the permissions it lists. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Process } from "../support/harness/process.ts";
import { withFolder } from "../support/harness/temp_store.ts";

const ROOT = new URL("../../", import.meta.url);
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
    const headers = { Authorization: `Bearer ${KEY}` };
    const paths = ["/readyz", "/v1/ping?agent=a", "/v1/spend", "/docs", "/dashboard/sign-in"];
    for (const path of paths) {
      const answer = await fetch(process.url + path, { headers });
      await answer.body?.cancel();
      assertEquals(answer.status, 200, path);
    }
    assertEquals((await process.stop()).code, 0);
    const elsewhere = { ...settings, RUNLEDGER_KV: `${folder}-other/ledger.kv` };
    await Process.startBy(launcher, elsewhere).then(
      () => assert(false, "it wrote elsewhere"),
      (error) => assertMatch(error.message, /Requires (read|write) access/),
    );
  });
});
