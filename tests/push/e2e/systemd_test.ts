/** Tests that the units in `ops/` start the service with the permissions they list, and back it up. */
import { basename, dirname } from "node:path";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { KV_TOKEN } from "../../support/fakes/kv_client.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { Harness } from "../../support/harness/harness.ts";
import { Process } from "../../support/harness/process.ts";
import { inFolder, withFolder } from "../../support/harness/temp_store.ts";
import { EXIT } from "../../../app/console.ts";
import { isInstalled } from "../../support/harness/commands.ts";

const ROOT = new URL("../../../", import.meta.url);
const KEY = `apk_eu_${"5e".repeat(16)}`;
/** The unit's only folder. */
const FOLDER = "/var/lib/runledger";
const DENO = "/usr/local/bin/deno ";

function read(path: string): string {
  return Deno.readTextFileSync(new URL(path, ROOT));
}

function commandOf(unit: string): string {
  return /^ExecStart=(.+)$/m.exec(read(`ops/${unit}`))?.[1] ?? "";
}

function commandOfUnit(): string {
  return commandOf("runledger.service");
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
  assertMatch(
    read("ops/runledger.service"),
    new RegExp(`^Environment=RUNLEDGER_KV=${FOLDER}/`, "m"),
  );
});

inFolder.test("systemd: the unit's command serves calls and pages, and reads and writes its folder alone", async (folder) => {
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
    (error) =>
      assertMatch(
        error.message,
        /Requires (read|write) access to .*: name its folder in -R and -W/,
      ),
  );
});

Deno.test("systemd: an instance over a shared KV serves calls and pages without any file", async () => {
  const command = commandOf("runledger@.service");
  assertEquals(command, commandOfUnit().replace(/ -[RW]=\S+/g, ""));
  await using kv = await KvServer.start();
  const launcher = ["sh", "-c", `exec '${Deno.execPath()}' ${command.slice(DENO.length)}`];
  const settings = { RUNLEDGER_KV: kv.url(), RUNLEDGER_KV_TOKEN: KV_TOKEN, RUNLEDGER_KEY: KEY };
  await using process = await Process.startBy(launcher, settings);
  await answersAll(process);
  assertEquals((await process.stop()).code, 0);
});

Deno.test("R29: the units restart after what a retry may cure, and after nothing else", () => {
  for (const unit of ["runledger.service", "runledger@.service"]) {
    const text = read(`ops/${unit}`);
    assertMatch(text, /^Restart=on-failure$/m);
    assertMatch(text, /^StartLimitIntervalSec=0$/m);
    const kept = /^RestartPreventExitStatus=(.+)$/m.exec(text)?.[1];
    assertEquals(kept, `${EXIT.settings} ${EXIT.store}`, unit);
  }
  for (const code of [0, 1, ...Object.values(EXIT)]) {
    const [, start = ""] = read("docs/OPERATIONS.md").split("\n## ");
    assertMatch(start, new RegExp(`^\\| ${code} +\\| `, "m"));
  }
});

const hasSystemd = isInstalled("systemd-analyze");

Deno.test({
  name: `systemd: it accepts each unit${hasSystemd ? "" : " (skipped: not installed)"}`,
  ignore: !hasSystemd,
  fn: () =>
    withFolder(async (folder) => {
      const units = [...Deno.readDirSync(new URL("ops/", ROOT))].map(({ name }) => name)
        .filter((name) => /\.(service|timer)$/.test(name));
      assertEquals(units.length, 5);
      for (const unit of units) {
        // The programs are not installed here.
        const text = read(`ops/${unit}`).replace(/^ExecStart=\S+/m, "ExecStart=/bin/true");
        await Deno.writeTextFile(`${folder}/${unit}`, text);
      }
      const args = ["verify", ...units.map((unit) => `${folder}/${unit}`)];
      const { code, stderr } = await new Deno.Command("systemd-analyze", { args }).output();
      assertEquals([code, new TextDecoder().decode(stderr)], [0, ""]);
    }),
});

Deno.test("systemd: the backup script keeps the newest backups, and removes none when it fails", async () => {
  await using h = await Harness.open({ onDisk: true });
  const { path } = h;
  await withFolder(async (kept) => {
    await Deno.writeTextFile(`${path}.seal`, new Uint8Array(32).toBase64());
    const names = () => [...Deno.readDirSync(kept)].map(({ name }) => name).sort();
    const backUp = async (env: Record<string, string>, args = [basename(kept)]) => {
      const settings = { DENO: Deno.execPath(), RUNLEDGER_KV: path, KEEP: "2", ...env };
      const script = new URL("ops/backup.sh", ROOT).pathname;
      const options = { args, env: settings, cwd: dirname(kept) };
      const { code, stderr } = await new Deno.Command(script, options).output();
      return { code, stderr: new TextDecoder().decode(stderr) };
    };
    const old = [1, 2, 3].map((day) => `ledger-2026010${day}T013000Z.kv`);
    const others = ["ledger-20260101T013000Z.kv.seal", "notes.txt"];
    for (const name of [...old, ...others]) await Deno.writeTextFile(`${kept}/${name}`, "x");
    const before = names();
    for (const env of [{ RUNLEDGER_KV: `${path}.none` }, { KEEP: "0" }, { KEEP: "x" }]) {
      assert((await backUp(env)).code !== 0);
      assertEquals(names(), before);
    }
    for (const args of [[], [`${kept}/none`], [kept, kept]]) {
      const { code, stderr } = await backUp({}, args);
      assertEquals([code, stderr.startsWith("Usage: KEEP=14 /")], [2, true], stderr);
    }
    assertEquals(names(), before);
    const { code, stderr } = await backUp({});
    assertEquals(code, 0, stderr);
    const [third = "", made = "", seal, notes, ...more] = names();
    assertEquals([third, seal, notes, more], [old[2], `${made}.seal`, "notes.txt", []]);
    assertMatch(made, /^ledger-20\d{6}T\d{6}Z\.kv$/);
    assert((await Deno.stat(`${kept}/${made}`)).size > 10_000);
  });
});
