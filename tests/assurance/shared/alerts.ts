/**
 * Runs that fail under load while instances are killed: each acknowledged one is in exactly one
 * incident, and each message reaches its receiver, in order.
 */
import { assert, assertEquals } from "@std/assert";
import { runId } from "../../support/builders/requests.ts";
import type { Random } from "../../../tools/random.ts";
import { certain } from "./calls.ts";
import { type Cluster, type Faults, type Instance, NO_FAULTS } from "./cluster.ts";
import { Receiver } from "./receiver.ts";

const FAULTS: Faults = { lost: 0.1, unavailable: 0.02, jitterMs: 5 };

const CLIENTS = 8;

/** Failing runs of each agent: more than an incident names. */
const RUNS = 24;

/** Runs that an incident names, at most. */
const NAMED = 20;

/** Number of the first successful run. */
const GOOD = 1_000_000;

/** Maximum milliseconds until all costs are final: the lease's length and some work. */
const SETTLE_MS_MAX = 30_000;

/** Maximum milliseconds until all messages have arrived: the lease of a killed try, and some work. */
const DELIVERED_MS_MAX = 90_000;

/** Milliseconds between looks, and between runs that must arrive one after the other. */
const PAUSE_MS = 50;

/** Minimum and maximum milliseconds between two kills. */
const KILL_MS = [20, 300] as const;

/** Settings that instances need to call the receiver. */
export const ALERT_SETTINGS = {
  RUNLEDGER_EGRESS: "127.0.0.0/8",
  RUNLEDGER_SEAL_KEY: new Uint8Array(32).fill(7).toBase64(),
} as const;

/** Number of agents that fail, and of kills while they do; half as many while they succeed again. */
interface AlertLoad {
  readonly agents: number;
  readonly kills: number;
  readonly random: Random;
}

/** Lets agents fail under load and succeed again, with kills. Needs {@link ALERT_SETTINGS}. */
export async function alerts(cluster: Cluster, load: AlertLoad): Promise<string> {
  await using receiver = new Receiver();
  await put(cluster, "/v1/channels/hook", { type: "webhook", url: receiver.url, default: true });
  const rule = { kind: "run_failed", params: { consecutive: 1 }, group_by: "agent" };
  await put(cluster, "/v1/rules/failures", rule);
  const agents = Array.from({ length: load.agents }, (_, n) => `agent-${n}`);
  const failing = agents.flatMap((agent, n) =>
    Array.from({ length: RUNS }, (_, m) => ({ agent, id: runId(n * RUNS + m), status: "fail" }))
  );
  receiver.failures = 1;
  await underKills(cluster, load, shuffled(failing, load.random));
  const open = await incidents(cluster, "unresolved");
  assertEquals(open.map(({ group }) => group.agent).sort(), agents.toSorted(), "open incidents");
  for (const { id, count, group, run_ids } of open) {
    assertEquals([count, new Set(run_ids).size], [RUNS, NAMED], `${id} of ${group.agent}`);
  }
  for (const { id, agent } of failing) {
    const { json } = await certain(cluster.access, "GET", `/v1/runs/${id}`);
    const own = open.find(({ group }) => group.agent === agent);
    assertEquals(json.incidents, [own.id], `incidents of ${id}`);
  }
  await pause(PAUSE_MS);
  const good = agents.map((agent, n) => ({ agent, id: runId(GOOD + n), status: "ok" }));
  const fewer = Math.floor(load.kills / 2);
  await underKills(cluster, { ...load, kills: fewer }, good);
  const ended = await incidents(cluster, "resolved");
  assertEquals(ended.map(({ id }) => id).sort(), open.map(({ id }) => id).sort(), "all ended");
  assert(ended.every(({ resolved_by }) => resolved_by === "condition"));
  const repeated = await checkMessages(cluster, receiver, ended.map(({ id }) => id));
  cluster.assertNoDefects();
  return `${failing.length} failing runs in ${ended.length} incidents with ${
    load.kills * 2
  } kills; ` +
    `${ended.length * 2} messages, ${repeated} of them repeated`;
}

/** Each message has arrived, the end of an incident after its beginning; returns the repeats. */
async function checkMessages(
  cluster: Cluster,
  { messages }: Receiver,
  ended: readonly string[],
): Promise<number> {
  const startedMs = performance.now();
  let deliveries = await listed(cluster, "deliveries", "");
  while (deliveries.some(({ state }) => state !== "delivered")) {
    const states = deliveries.map(({ state }) => state).filter((state) => state !== "delivered");
    assert(performance.now() - startedMs < DELIVERED_MS_MAX, `still ${states}`);
    assert(!states.includes("dead") && !states.includes("cancelled"), `${states}`);
    await pause(PAUSE_MS);
    deliveries = await listed(cluster, "deliveries", "");
  }
  const arrived = [...new Set(messages.map(({ id }) => id))];
  assertEquals(arrived.toSorted(), deliveries.map(({ id }) => id).sort(), "deliveries");
  for (const incident of ended) {
    const own = messages.filter((message) => message.incident === incident);
    const types = [...new Map(own.map(({ id, type }) => [id, type])).values()];
    assertEquals(types, ["incident.opened", "incident.resolved"], incident);
  }
  return messages.length - arrived.length;
}

/** Sends heartbeats until each is acknowledged and processed, while instances are killed. */
async function underKills(
  cluster: Cluster,
  { kills, random }: AlertLoad,
  bodies: readonly { readonly id: string }[],
): Promise<void> {
  cluster.faults = FAULTS;
  const sending = send(cluster, bodies);
  // A failure is thrown where the result is awaited.
  sending.catch(() => {});
  for (let n = 0; n < kills; n++) {
    await pause(random.int(...KILL_MS));
    const any = random.pick([...cluster.instances] as [Instance, ...Instance[]]);
    const killed = random.chance(0.5) ? cluster.holder ?? any : any;
    await killed.kill();
    await killed.start();
  }
  await sending;
  cluster.faults = NO_FAULTS;
  await settled(cluster, bodies.map(({ id }) => id));
}

async function send(cluster: Cluster, bodies: readonly object[]): Promise<void> {
  const next = bodies.values();
  await Promise.all(Array.from({ length: CLIENTS }, async () => {
    for (const body of next) {
      const { status, json } = await certain(cluster.access, "POST", "/v1/heartbeats", body);
      assert(status === 200 || status === 202, JSON.stringify(json));
    }
  }));
}

/** Waits until the costs of runs are final, which is when their alerts are judged. */
async function settled(cluster: Cluster, ids: readonly string[]): Promise<void> {
  const startedMs = performance.now();
  for (const id of ids) {
    for (;;) {
      const { json } = await certain(cluster.access, "GET", `/v1/runs/${id}`);
      if (json.cost?.state === "final") break;
      assert(performance.now() - startedMs < SETTLE_MS_MAX, `${id} is still not final`);
      await pause(PAUSE_MS);
    }
  }
}

async function put(cluster: Cluster, path: string, body: object): Promise<void> {
  const { status, json } = await certain(cluster.access, "PUT", path, body);
  assert(status === 200 || status === 202, `${path}: ${status} ${JSON.stringify(json)}`);
}

function incidents(cluster: Cluster, state: string) {
  return listed(cluster, "incidents", `&state=${state}&rule=failures`);
}

/** Reads a list page by page. */
// deno-lint-ignore no-explicit-any -- rows of a response
async function listed(cluster: Cluster, list: string, query: string): Promise<any[]> {
  const items = [];
  for (let after = "";;) {
    const path = `/v1/${list}?limit=500${query}${after}`;
    const { status, json } = await certain(cluster.access, "GET", path);
    assertEquals(status, 200, JSON.stringify(json));
    items.push(...json[list]);
    if (json.cursor === null) return items;
    after = `&cursor=${encodeURIComponent(json.cursor)}`;
  }
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  return items.map((item) => ({ item, at: random.int(0, 1e9) })).sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
