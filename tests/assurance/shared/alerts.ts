/**
 * Runs that fail under load while instances are killed: each acknowledged one is in exactly one
 * incident, and each message reaches its receiver, in order.
 */
import { assert, assertEquals } from "@std/assert";
import { runId } from "../../support/builders/requests.ts";
import { WebhookReceiver } from "../../support/fakes/webhook_receiver.ts";
import type { Random } from "../../../tools/random.ts";
import { certain, listed } from "./calls.ts";
import type { Cluster } from "./cluster.ts";
import { pause, put, type RunCalls, underKills } from "./under_kills.ts";

/** Failing runs of each agent: more than an incident names. */
const RUNS = 24;

/** Runs that an incident names, at most. */
const NAMED = 20;

/** Number of the first successful run. */
const GOOD = 1_000_000;

/** Maximum milliseconds until all messages have arrived: the lease of a killed try, and some work. */
const DELIVERED_MS_MAX = 90_000;

/** Milliseconds between reads, and between runs that must arrive one after the other. */
const PAUSE_MS = 50;

/** Settings that instances need to call the receiver. */
export const ALERT_SETTINGS = {
  RUNLEDGER_EGRESS: "127.0.0.0/8",
  RUNLEDGER_SEAL_KEY: new Uint8Array(32).fill(7).toBase64(),
} as const;

/** A message that the receiver accepted. */
interface Message {
  readonly id: string;
  readonly type: string;
  readonly incident: string;
}

/** Number of agents that fail, and of kills while they do; half as many while they succeed again. */
interface AlertLoad {
  readonly agents: number;
  readonly kills: number;
  readonly random: Random;
}

/** Lets agents fail under load and succeed again, with kills. Needs {@link ALERT_SETTINGS}. */
export async function alerts(cluster: Cluster, load: AlertLoad): Promise<string> {
  await using receiver = WebhookReceiver.start();
  const messages: Message[] = [];
  // The first try of a message fails.
  let status = 503;
  receiver.answer = ({ id, body }) => {
    const answer = status;
    const { type, data } = JSON.parse(body);
    if (answer === 204) messages.push({ id, type, incident: data.incident.id });
    status = 204;
    return answer;
  };
  await put(cluster, "/v1/channels/hook", { type: "webhook", url: receiver.url, default: true });
  const rule = { kind: "run_failed", params: { consecutive: 1 }, group_by: "agent" };
  await put(cluster, "/v1/rules/failures", rule);
  const agents = Array.from({ length: load.agents }, (_, n) => `agent-${n}`);
  const failing = agents.flatMap((agent, n) =>
    Array.from({ length: RUNS }, (_, m) => ({ agent, id: runId(n * RUNS + m), status: "fail" }))
  );
  await underKills(cluster, load, beatsOf(shuffled(failing, load.random)));
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
  await underKills(cluster, { ...load, kills: fewer }, beatsOf(good));
  const ended = await incidents(cluster, "resolved");
  assertEquals(ended.map(({ id }) => id).sort(), open.map(({ id }) => id).sort(), "all ended");
  assert(ended.every(({ resolved_by }) => resolved_by === "condition"));
  const repeated = await checkMessages(cluster, messages, ended.map(({ id }) => id));
  cluster.assertNoDefects();
  return `${failing.length} failing runs in ${ended.length} incidents with ${
    load.kills * 2
  } kills; ` +
    `${ended.length * 2} messages, ${repeated} of them repeated`;
}

/** Each message has arrived, the end of an incident after its beginning; returns the repeats. */
async function checkMessages(
  cluster: Cluster,
  messages: readonly Message[],
  ended: readonly string[],
): Promise<number> {
  const startedMs = performance.now();
  let deliveries = await listed(cluster.access, "deliveries");
  while (deliveries.some(({ state }) => state !== "delivered")) {
    const states = deliveries.map(({ state }) => state).filter((state) => state !== "delivered");
    assert(performance.now() - startedMs < DELIVERED_MS_MAX, `still ${states}`);
    assert(!states.includes("dead") && !states.includes("cancelled"), `${states}`);
    await pause(PAUSE_MS);
    deliveries = await listed(cluster.access, "deliveries");
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

function beatsOf(bodies: readonly { readonly id: string }[]): RunCalls[] {
  return bodies.map((body) => ({ id: body.id, calls: [["/v1/heartbeats", body]] }));
}

function incidents(cluster: Cluster, state: string) {
  return listed(cluster.access, "incidents", `&state=${state}&rule=failures`);
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  return items.map((item) => ({ item, at: random.int(0, 1e9) })).sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
