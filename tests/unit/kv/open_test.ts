import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { Memory } from "../../../runtime/memory.ts";
import { keys, LEDGER_FORMAT, OWN_FORMAT } from "../../../kv/base/keys.ts";
import { openStore, openUnlocked, withAccessToken } from "../../../kv/open.ts";
import { StoreRefused } from "../../../kv/refused.ts";
import {
  fillStore,
  inFolder,
  MIDDLE,
  TempStore,
  withFolder,
} from "../../support/harness/temp_store.ts";
import { asKvClient } from "../../support/fakes/kv_client.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";

const KEY = ["value"];

/** Asserts a refusal in one line with advice. */
async function assertRefused(path: string, ...says: string[]): Promise<void> {
  const error = await assertRejects(() => openStore(path, new Memory()), StoreRefused);
  for (const part of says) assertStringIncludes(error.message, part);
  assert(!error.message.includes("\n") && error.message.includes(path), error.message);
}

inFolder.test("open: the index by expiry holds only rows that expire", async (folder) => {
  const [foreign, ours] = [`${folder}/foreign.kv`, `${folder}/ours.kv`];
  {
    using kv = await Deno.openKv(foreign);
    await kv.set(["expires"], 1, { expireIn: 600_000 });
    await kv.set(["forever"], 1);
  }
  for (const [path, rows] of [[foreign, 1], [ours, 0]] as const) {
    // The second start finds the index as it should be.
    for (let start = 1; start <= 2; start++) {
      const store = await openStore(path, new Memory());
      await store.writer.commit({ sets: [{ key: KEY, value: start }] });
      await store.close();
      using database = new DatabaseSync(path);
      const index = "SELECT sql FROM sqlite_schema WHERE name = 'kv_expiration_ms_idx'";
      assertMatch(String(database.prepare(index).get()?.["sql"]), /WHERE expiration_ms >= 0$/);
      const all = "SELECT count(*) AS rows FROM kv INDEXED BY kv_expiration_ms_idx";
      const expiring = database.prepare(`${all} WHERE expiration_ms >= 0`).get();
      assertEquals(expiring?.["rows"], rows);
    }
  }
  const store = await openStore(foreign, new Memory());
  assertEquals((await store.reader.get(["expires"])).value, 1);
  assertEquals((await store.reader.get(["forever"])).value, 1);
  await store.close();
});

Deno.test("open: :memory: is one database for writing and reading, and leaves no file", async () => {
  const before = await Array.fromAsync(Deno.readDir("."), ({ name }) => name);
  const store = await openStore(":memory:", new Memory());
  await store.writer.commit({ sets: [{ key: KEY, value: 1 }] });
  assertEquals((await store.reader.get(KEY)).value, 1);
  await store.close();
  const after = await Array.fromAsync(Deno.readDir("."), ({ name }) => name);
  assertEquals(after.filter((name) => name.includes("memory")), []);
  assertEquals(before.filter((name) => name.includes("memory")), []);
});

inFolder.test("open: a lock file left behind by a killed process does not matter", async (folder) => {
  await Deno.writeTextFile(`${folder}/test.kv.lock`, "999999999 and a longer text\n");
  const store = await openStore(`${folder}/test.kv`, new Memory());
  assertEquals(await Deno.readTextFile(`${folder}/test.kv.lock`), `${Deno.pid}\n`);
  await store.close();
});

Deno.test({
  name: "open: a disk without space for the lock file is refused in one line",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await withFolder(async (folder) => {
      // The device that is always full.
      await Deno.symlink("/dev/full", `${folder}/test.kv.lock`);
      await assertRefused(`${folder}/test.kv`, "Cannot open", "check its disk");
    });
  },
});

/** Damages of a ledger's file: the bytes that are in its place. */
const DAMAGES: Readonly<Record<string, (bytes: Uint8Array<ArrayBuffer>) => Uint8Array>> = {
  "a damaged header": (bytes) => bytes.fill(0x2a, 0, 100),
  "damaged pages in its middle": (bytes) => bytes.fill(0xff, MIDDLE.from, MIDDLE.to),
  "no end": (bytes) => bytes.slice(0, 200_000),
  "another content": () => new TextEncoder().encode("dear diary\n".repeat(1_000)),
};

for (const [name, damage] of Object.entries(DAMAGES)) {
  inFolder.test(`open: a file with ${name} is refused at the start, and left unchanged`, async (folder) => {
    const path = `${folder}/test.kv`;
    await fillStore(path);
    const bytes = await Deno.readFile(path);
    assert(bytes.length > MIDDLE.to, `${bytes.length} bytes are no middle`);
    const damaged = damage(bytes);
    await Deno.writeFile(path, damaged);
    await assertRefused(path, "is damaged", "restore a backup");
    // The refusal released the lock.
    await assertRefused(path, "is damaged");
    assertEquals(await Deno.readFile(path), new Uint8Array(damaged));
  });
}

inFolder.test("open: a read-only file is refused, also for root", async (folder) => {
  const path = `${folder}/test.kv`;
  await fillStore(path);
  await Deno.chmod(path, 0o444);
  await assertRefused(path, "read-only");
  await Deno.chmod(path, 0o644);
  await (await openStore(path, new Memory())).close();
});

inFolder.test("open: a folder and a path below a file are refused", async (folder) => {
  await assertRefused(folder, "folder");
  await Deno.writeTextFile(`${folder}/file`, "");
  await assertRefused(`${folder}/file/test.kv`, "Cannot open");
});

inFolder.test("close: running commits are on disk before the lock is released", async (folder) => {
  const path = `${folder}/test.kv`;
  const store = await openStore(path, new Memory());
  const versions = Array.from(
    { length: 50 },
    (_, n) => store.writer.commit({ sets: [{ key: ["n", n], value: n }] }),
  );
  await store.close();
  assert((await Promise.all(versions)).every((version) => version !== null));
  const again = await openStore(path, new Memory());
  assertEquals((await Array.fromAsync(again.reader.list({ prefix: ["n"] }))).length, 50);
  await again.close();
});

TempStore.test("the reading handle sees a write as soon as it is acknowledged", async (temp) => {
  const { writer, reader } = temp.store;
  await Promise.all(Array.from({ length: 100 }, async (_, n) => {
    const version = await writer.commit({ sets: [{ key: ["n", n], value: n }] });
    const entry = await reader.get(["n", n]);
    assertEquals([entry.value, entry.versionstamp], [n, version]);
  }));
});

TempStore.test("open: a file has one lock, whichever link opens it", async ({ folder, path }) => {
  await Deno.symlink(path, `${folder}/alias.kv`);
  await Deno.symlink(folder, `${folder}/folder`);
  await assertRefused(`${folder}/alias.kv`, `in use by process ${Deno.pid}`);
  await assertRefused(`${folder}/folder/test.kv`, `in use by process ${Deno.pid}`);
  await Deno.link(path, `${folder}/hard.kv`);
  await assertRefused(`${folder}/hard.kv`, "2 names", "hard links");
  await Deno.symlink(`${folder}/nowhere`, `${folder}/dangling.kv`);
  await assertRefused(`${folder}/dangling.kv`, "link to a file that does not exist");
});

Deno.test({
  name: "open: only the owner may read the ledger, its log and its lock",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withFolder(async (folder) => {
      const path = `${folder}/test.kv`;
      const umask = Deno.umask(0);
      const store = await openStore(path, new Memory()).finally(() => Deno.umask(umask));
      await store.writer.commit({ sets: [{ key: KEY, value: 1 }] });
      const modes = [
        ...["", "-wal", "-shm", ".lock"].map((part) => `test.kv${part}`),
      ].map((name) => (Deno.statSync(`${folder}/${name}`).mode ?? 0) & 0o777);
      assertEquals(modes, [0o600, 0o600, 0o600, 0o600]);
      await store.close();
    });
  },
});

/** Turns a file into a ledger whose first row is `value`. */
async function writeFormat(path: string, value: unknown): Promise<void> {
  const store = await openStore(path, new Memory());
  const sets = [{ key: keys.firstTeam(), value: "team" }];
  const format = value === undefined ? [] : [{ key: keys.format(), value }];
  await store.writer.commit({ sets: [...sets, ...format] });
  await store.close();
}

const NEWER = { format: LEDGER_FORMAT + 1, version: "7.8.9" };
const WAY = "export it with that version, then import it with this one, see docs/UPGRADE.md";

for (
  const [value, words, way] of [
    [NEWER, `has format ${LEDGER_FORMAT + 1}, written by version 7.8.9`, WAY],
    [1, "has format 1, as written before version 0.1.0", "start with a new one"],
    [undefined, "has no format", "start with a new one"],
    ["odd", "has format odd", "start with a new one"],
    [{ format: "importing", version: "0.1.0" }, "its import did not end", "import into a new one"],
  ] as const
) {
  inFolder.test(`open: a ledger that ${words} is refused, also by tools, and left unchanged`, async (folder) => {
    const path = `${folder}/test.kv`;
    await writeFormat(path, value);
    await assertRefused(path, words, way);
    await assertRejects(() => openUnlocked(path), StoreRefused, words);
    // The refusal released the lock.
    await assertRefused(path, words);
  });
}

inFolder.test("open: a ledger is created only in a folder that exists (R30)", async (folder) => {
  const path = `${folder}/not mounted/test.kv`;
  await assertRefused(path, "does not exist", "mount its disk, or create the folder");
  assertEquals([...Deno.readDirSync(folder)], []);
  const [first, again] = [`${folder}/test.kv`, `${folder}/test.kv`];
  const store = await openStore(first, new Memory());
  assert(store.isNew);
  await store.writer.commit({ sets: [{ key: keys.format(), value: OWN_FORMAT }] });
  await store.close();
  const opened = await openStore(again, new Memory());
  assert(!opened.isNew);
  await opened.close();
});

Deno.test("open: a commit log without its ledger is never attached to another ledger", async () => {
  for (const remaining of ["-wal", ".restoring"]) {
    await withFolder(async (folder) => {
      const path = `${folder}/test.kv`;
      await Deno.writeTextFile(path + remaining, "something");
      await assertRefused(path, `${path}${remaining}`, "deno task restore");
      await Deno.writeTextFile(path, "");
      await assertRefused(path, `${path}${remaining}`);
      await Deno.remove(path + remaining);
      await (await openStore(path, new Memory())).close();
    });
  }
});

const NAME = "DENO_KV_ACCESS_TOKEN";

/** Returns the token that the runtime would read. */
const current = () => Promise.resolve(Deno.env.get(NAME));

Deno.test("access token: it is in the runtime's variable only while the store is opened", async () => {
  assertEquals(await withAccessToken("secret", current), "secret");
  assertEquals(await current(), undefined);
  await assertRejects(() => withAccessToken("secret", () => Promise.reject(new Error("refused"))));
  assertEquals(await current(), undefined);
});

Deno.test("access token: without one, the runtime's variable stays as it is", async () => {
  Deno.env.set(NAME, "own");
  try {
    assertEquals(await withAccessToken(null, current), "own");
    assertEquals(await current(), "own");
  } finally {
    Deno.env.delete(NAME);
  }
});

const ANSWER_MS_MAX = 200;

for (const hangs of ["all", "calls"] as const) {
  Deno.test({
    name: `open: a shared KV that answers ${
      hangs === "all" ? "nothing" : "no read"
    } is refused in time`,
    // A handle waits for its reads, so it stays open.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      await using kv = await KvServer.start();
      kv.knobs.hangs = hangs;
      await asKvClient(async () => {
        const opening = openStore(kv.url(), new Memory(), { answerMsMax: ANSWER_MS_MAX });
        const words = "no answer in 0.2 s: check RUNLEDGER_KV and RUNLEDGER_KV_TOKEN";
        await assertRejects(() => opening, StoreRefused, words);
      });
    },
  });
}
