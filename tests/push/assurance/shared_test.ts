/** Tests several processes over one KV server in a process of its own; the long form has kills of all. */
import { assertEquals } from "@std/assert";
import { Random } from "../../../tools/random.ts";
import { denokvCommand, KvProcess } from "../../support/fakes/denokv.ts";
import { asKvClient } from "../../support/fakes/kv_client.ts";
import { type Fate, KvProxy } from "../../support/fakes/kv_proxy.ts";
import { inFolder, withFolder } from "../../support/harness/temp_store.ts";
import { ALERT_SETTINGS, alerts } from "../../assurance/shared/alerts.ts";
import { checks } from "../../assurance/shared/checks.ts";
import { Cluster } from "../../assurance/shared/cluster.ts";
import { Kills } from "../../assurance/shared/kills.ts";

const DENOKV = denokvCommand();

/** The report of a KV client about a commit with each fate, and whether it was sent twice. */
const REPORTED: Readonly<Record<Fate, readonly [reported: boolean | "an error", sent: number]>> = {
  sent: [true, 1],
  // The first attempt was stored, so the second conflicts with it.
  lost: [false, 2],
  unavailable: [false, 2],
  refused: [true, 2],
  late: [true, 2],
  torn: ["an error", 1],
};

for (const [name, denokv] of [["the engine from npm", null], ["denokv", DENOKV]] as const) {
  const ignore = name === "denokv" && denokv === null;

  Deno.test({
    name: `shared: the proxy of ${name} loses answers; a killed server keeps what it stored`,
    ignore,
    fn: () =>
      withFolder(async (folder) => {
        await using kv = await KvProcess.start(folder, denokv);
        await using proxy = new KvProxy(() => kv.origin);
        using db = await asKvClient(() => Deno.openKv(proxy.origin + kv.path));
        for (const [fate, [reported, sent]] of Object.entries(REPORTED)) {
          const before = proxy.counts.commits;
          proxy.knobs.fate = () => proxy.counts.commits === before + 1 ? fate as Fate : "sent";
          const commit = db.atomic().check({ key: [fate], versionstamp: null }).set([fate], 1);
          const outcome = await commit.commit().then(({ ok }) => ok, () => "an error");
          assertEquals([outcome, proxy.counts.commits - before], [reported, sent], fate);
        }
        await kv.kill();
        await kv.start();
        const stored = await Array.fromAsync(db.list({ prefix: [] }), ({ key }) => key[0]);
        assertEquals(stored.toSorted(), Object.keys(REPORTED).toSorted());
      }),
  });
}

inFolder.test("shared: three instances keep every answer across a kill -9 of the KV server", async (folder) => {
  const random = new Random("short");
  await using cluster = await Cluster.start(folder, { denokv: DENOKV, random });
  const kills = new Kills(cluster, random);
  await kills.round("kv", 20);
  await kills.audit();
});

inFolder.test("shared: failing runs are in one incident each, with one message, by two instances", async (folder) => {
  const random = new Random("short");
  const settings = ALERT_SETTINGS;
  await using cluster = await Cluster.start(folder, {
    denokv: DENOKV,
    random,
    count: 2,
    settings,
  });
  await alerts(cluster, { agents: 4, kills: 0, random });
});

inFolder.test("shared: two instances judge each run by its parts, and count it once", async (folder) => {
  const random = new Random("short");
  await using cluster = await Cluster.start(folder, { denokv: DENOKV, random, count: 2 });
  await checks(cluster, { runs: 40, kills: 0, random });
});
