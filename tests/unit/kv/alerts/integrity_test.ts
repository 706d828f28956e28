/** Verify finds every kind of damage to incidents and groups. */
import { assert, assertEquals } from "@std/assert";
import type { Incident } from "../../../../domain/alerts/incident.ts";
import { incidentSet } from "../../../../kv/alerts/rows.ts";
import { keys } from "../../../../kv/base/keys.ts";
import { verifyStore } from "../../../../kv/integrity/integrity.ts";
import type { KvSet } from "../../../../kv/writer/group.ts";
import { run, TEAM } from "../../../support/builders/stored_runs.ts";
import { AlertProcess } from "../../../support/harness/alert_process.ts";
import { TempStore } from "../../../support/harness/temp_store.ts";

TempStore.test(
  "verify: every kind of damage to incidents and their groups is found",
  async (temp, t) => {
    const here = new AlertProcess(temp.store);
    await here.putMail("ops");
    await here.closeAll("bbbgbbb");
    const [over, open] = await here.incidents() as [Incident, Incident];
    assertEquals(await here.states(), ["failures =a 3 condition", "failures =a 3 open"]);
    const verify = async () => (await verifyStore(temp.store, { pauseMs: 0 })).differences;
    assertEquals(await verify(), []);
    const { id: team } = TEAM;
    const damages: Record<string, { sets?: KvSet[]; deletes?: Deno.KvKey[] }> = {
      "place of incident": { deletes: [keys.incidentAt(team, over.openedAt, over.id)] },
      "among open ones": { deletes: [keys.openIncident(team, open.id)] },
      "place of an incident": {
        sets: [{ key: keys.openIncident(team, "inc_eu_9"), value: "info" }],
      },
      [`incident ${over.id} among open ones`]: {
        sets: [{ key: keys.openIncident(team, over.id), value: "critical" }],
      },
      "incidents of run": { deletes: [keys.runIncidents(team, run(5))] },
      "group of incident": { deletes: [keys.alert(team, "failures", "=a")] },
      "incident of group": { sets: [incidentSet(team, { ...open, state: "resolved" })] },
      "numbers of rule failures": { deletes: [keys.alertState(team)] },
      [`incident ${open.id}`]: { sets: [{ key: keys.incident(team, open.id), value: "?" }] },
      "group failures =a": { sets: [{ key: keys.alert(team, "failures", "=a"), value: "?" }] },
    };
    for (const [what, { sets = [], deletes = [] }] of Object.entries(damages)) {
      await t.step(what, async () => {
        const touched = [...sets.map(({ key }) => key), ...deletes];
        const before = await Promise.all(touched.map((key) => temp.store.reader.get(key)));
        await temp.store.writer.commit({ sets, deletes });
        const whats = (await verify()).map((difference) => difference.what);
        await temp.store.writer.commit({
          sets: before.filter(({ versionstamp }) => versionstamp !== null),
          deletes: before.filter(({ versionstamp }) => versionstamp === null).map(({ key }) => key),
        });
        assert(whats.some((text) => text.includes(what)), `${what} is not in ${whats}`);
      });
    }
    assertEquals(await verify(), []);
  },
);
