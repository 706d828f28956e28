/** Monitors of services over a shared KV: deadlines, killed services, one change for all. */
import { assert, assertEquals } from "@std/assert";
import { Memory } from "../../../runtime/memory.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import type { Flip, Monitor, MonitorState } from "../../../domain/monitors/monitor.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { decodeMonitor } from "../../../kv/base/codec_monitors.ts";
import { keys } from "../../../kv/base/keys.ts";
import { type OpenStore, openStore } from "../../../kv/open.ts";
import { aHeartbeat } from "../../support/builders/requests.ts";
import { asKvClient, KV_TOKEN } from "../../support/fakes/kv_client.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { HOURLY, MonitorProcess } from "../../support/harness/monitor_process.ts";
import { Process } from "../../support/harness/process.ts";
import { until } from "../../support/harness/until.ts";

const KEY = `apk_eu_${"ab".repeat(16)}`;

/** Expected 2 seconds after each outcome, and down 2 seconds later. */
const SHORT = { ...HOURLY, schedule: { everySeconds: 2 }, graceSeconds: 2 };

/** Milliseconds within which a deadline is noticed: three times what an idle machine needs at most. */
const NOTICE_MS_MAX = 15_000;

/** Milliseconds within which another service replaces a killed one, and notices the deadline. */
const REPLACED_MS_MAX = 30_000 + NOTICE_MS_MAX;

/** Services over one KV, and a client that sees its rows. */
class World implements AsyncDisposable {
  private constructor(readonly kv: KvServer, readonly store: OpenStore) {}

  static async start(): Promise<World> {
    const kv = await KvServer.start();
    return new World(kv, await asKvClient(() => openStore(kv.url(), new Memory())));
  }

  service(): Promise<Process> {
    const settings = { RUNLEDGER_KV: this.kv.url(), RUNLEDGER_KV_TOKEN: KV_TOKEN };
    return Process.start({ ...settings, RUNLEDGER_KEY: KEY });
  }

  /** Sends an outcome of the agent and creates its monitor. */
  async monitor({ url }: Process): Promise<Monitor> {
    const body = JSON.stringify(aHeartbeat(1, { agent: "a" }));
    const headers = { Authorization: `Bearer ${KEY}` };
    const response = await fetch(`${url}/v1/heartbeats`, { method: "POST", headers, body });
    await response.body?.cancel();
    assertEquals(response.status, 202);
    const { value: id } = await this.store.reader.get<TeamId>(keys.firstTeam());
    assert(id !== null);
    const team: Team = { id, name: "team", tier: "business" };
    const stored = await new MonitorProcess(this.store).put(SHORT, Date.now(), "a", team);
    return await this.becomes("up", id) ?? stored.record.monitor;
  }

  /** Resolves when the monitor is in a state. */
  async becomes(state: MonitorState, team?: TeamId): Promise<Monitor> {
    const id = team ?? (await this.store.reader.get<TeamId>(keys.firstTeam())).value;
    assert(id !== null);
    return await until(async () => {
      const { value } = await this.store.reader.get(keys.monitor(id, "a"));
      const monitor = decodeMonitor(value);
      return monitor?.state === state && monitor;
    });
  }

  /** Returns the changes to late and down, with their instants. */
  async flips(): Promise<[to: Flip["to"], at: number][]> {
    const rows = this.store.reader.list<readonly Flip[]>({ prefix: ["flip"] });
    const flips = (await Array.fromAsync(rows, ({ value }) => value)).flat();
    return flips.filter(({ to }) => to === "late" || to === "down").map(({ to, at }) => [to, at]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close();
    await this.kv[Symbol.asyncDispose]();
  }
}

Deno.test("monitors of two services: a deadline makes one change at its instant, noticed in time", async () => {
  await using world = await World.start();
  await using one = await world.service();
  await using _other = await world.service();
  const { lastArrivalAt, watchedFrom } = await world.monitor(one);
  const expectedAt = Math.max(lastArrivalAt ?? 0, watchedFrom) + 2_000;
  await world.becomes("down");
  const lateMs = Date.now() - (expectedAt + 2_000);
  assert(lateMs < NOTICE_MS_MAX, `noticed ${lateMs} ms after the deadline`);
  assertEquals(await world.flips(), [["late", expectedAt], ["down", expectedAt + 2_000]]);
});

Deno.test("monitors of two services: one killed between a deadline and its change leaves it to the other", async () => {
  await using world = await World.start();
  await using holder = await world.service();
  const { lastArrivalAt, watchedFrom } = await world.monitor(holder);
  await using _other = await world.service();
  const expectedAt = Math.max(lastArrivalAt ?? 0, watchedFrom) + 2_000;
  await world.becomes("late");
  await holder.stop("SIGKILL");
  await world.becomes("down");
  const lateMs = Date.now() - (expectedAt + 2_000);
  assert(lateMs < REPLACED_MS_MAX, `noticed ${lateMs} ms after the deadline`);
  assertEquals(await world.flips(), [["late", expectedAt], ["down", expectedAt + 2_000]]);
});
