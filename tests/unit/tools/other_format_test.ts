/** Each tool on a ledger that it cannot use (R21), and with options that it does not have. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Memory } from "../../../runtime/memory.ts";
import { keys, LEDGER_FORMAT } from "../../../kv/base/keys.ts";
import { openStore } from "../../../kv/open.ts";
import { backup } from "../../../tools/backup.ts";
import type { Io } from "../../../tools/command.ts";
import { runExport } from "../../../tools/export.ts";
import { runImport } from "../../../tools/import.ts";
import { jobs } from "../../../tools/jobs.ts";
import { runRestore } from "../../../tools/restore.ts";
import { sweep } from "../../../tools/sweep.ts";
import { verify } from "../../../tools/verify.ts";
import { inFolder, withFolder } from "../../support/harness/temp_store.ts";
import { Recorder } from "../../support/harness/tools.ts";

type Tool = (io: Io, kv: string, folder: string) => Promise<number>;

const TOOLS: Readonly<Record<string, Tool>> = {
  backup: (io, kv, folder) => backup([`${folder}/copy`, `--kv=${kv}`], io),
  restore: async (io, kv, folder) => {
    const code = await runRestore([kv, `--kv=${folder}/restored`], io);
    const left = Array.from(Deno.readDirSync(folder), ({ name }) => name);
    assert(!left.includes("restored.restoring"), left.join());
    return code;
  },
  verify: (io, kv) => verify([`--kv=${kv}`], io),
  jobs: (io, kv) => jobs([`--kv=${kv}`], io),
  sweep: (io, kv) => sweep([`--kv=${kv}`], io),
  "sweep --dry-run": (io, kv) => sweep(["--dry-run", `--kv=${kv}`], io),
  "sweep --reports": (io, kv) => sweep(["--reports", `--kv=${kv}`], io),
  export: (io, kv, folder) => runExport([`${folder}/export`, `--kv=${kv}`], io),
  import: async (io, kv, folder) => {
    await Deno.writeTextFile(`${folder}/export`, "");
    return await runImport([`${folder}/export`, `--kv=${kv}`], io);
  },
};

Deno.test("tools: each refuses a ledger of another format with 3, and names its version and the way over", async (t) => {
  for (const [name, tool] of Object.entries(TOOLS)) {
    await t.step(name, () =>
      withFolder(async (folder) => {
        const kv = `${folder}/test.kv`;
        const store = await openStore(kv, new Memory());
        const value = { format: LEDGER_FORMAT + 1, version: "7.8.9" };
        await store.writer.commit({
          sets: [{ key: keys.format(), value }, { key: keys.firstTeam(), value: "team" }],
        });
        await store.close();
        const io = new Recorder();
        assertEquals(await tool(io, kv, folder), 3, io.failures.join());
        assertStringIncludes(io.failures.join(), `${kv} has format ${value.format}, written by`);
        assertStringIncludes(io.failures.join(), "version 7.8.9");
        assertStringIncludes(io.failures.join(), "export it with that version, then import it");
      }));
  }
});

Deno.test("tools: a store without a ledger is refused with 3", async (t) => {
  for (const name of ["verify", "jobs", "sweep", "export"]) {
    await t.step(name, () =>
      withFolder(async (folder) => {
        const kv = `${folder}/empty.kv`;
        await (await openStore(kv, new Memory())).close();
        const io = new Recorder();
        assertEquals(await TOOLS[name]?.(io, kv, folder), 3);
        assertStringIncludes(io.failures.join(), `${kv} holds no ledger`);
      }));
  }
});

inFolder.test("import: a folder that does not exist is refused with 3 (R30)", async (folder) => {
  const io = new Recorder();
  assertEquals(await TOOLS["import"]?.(io, `${folder}/not mounted/new.kv`, folder), 3);
  assertStringIncludes(io.failures.join(), "mount its disk, or create the folder");
});

Deno.test("tools: a missing ledger is named, refused with 3, and not created", async (t) => {
  const names = ["backup", "verify", "jobs", "sweep", "sweep --dry-run", "sweep --reports"];
  for (const name of [...names, "export"]) {
    await t.step(name, () =>
      withFolder(async (folder) => {
        const io = new Recorder();
        assertEquals(await TOOLS[name]?.(io, `${folder}/none.kv`, folder), 3);
        assertStringIncludes(io.failures.join(), `${folder}/none.kv`);
        assertEquals([...Deno.readDirSync(folder)], []);
      }));
  }
});

/** Command lines that a tool refuses, with words of the advice. */
const WRONG: readonly (readonly [typeof verify, readonly string[], string])[] = [
  [verify, ["--nope"], "--help"],
  [jobs, ["--nope"], "--help"],
  [jobs, ["--redrive="], "--redrive takes"],
  [sweep, ["--nope"], "--help"],
  [sweep, ["--dry-run", "--reports"], "--reports"],
  ...[backup, runRestore].flatMap((tool) =>
    [[], ["a", "b"], ["a", "--vk=x"]].map((args) => [tool, args, ""] as const)
  ),
];

Deno.test("tools: a wrong command line is refused with 2 and advice", async () => {
  for (const [tool, args, words] of WRONG) {
    const io = new Recorder();
    assertEquals(await tool([...args], io), 2, args.join(" "));
    assertStringIncludes(io.failures.join(), words, args.join(" "));
  }
});

Deno.test("tools: --help lists the options and the exit codes", async () => {
  const helps: readonly (readonly [typeof verify, RegExp])[] = [
    [verify, /--kv=FILE[^]*Exit codes: 0 exact, 1/],
    [jobs, /--redrive=RUN_ID\|all/],
    [sweep, /--dry-run[^]*--reports[^]*Exit codes: 0 done, 1/],
    [backup, /--kv/],
    [runRestore, /--kv/],
  ];
  for (const [tool, words] of helps) {
    const io = new Recorder();
    assertEquals(await tool(["--help"], io), 0);
    assertMatch(io.lines.join("\n"), words);
  }
});
