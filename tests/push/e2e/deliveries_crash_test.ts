/** Tests that an incident reaches its receiver, wherever kill -9 strikes, with one id. */
import { assert, assertEquals } from "@std/assert";
import type { StoredHealth } from "../../../domain/channels/delivery.ts";
import { wakeRow } from "../../../kv/channels/delivery_rows.ts";
import { keys } from "../../../kv/base/keys.ts";
import type { OpenStore } from "../../../kv/open.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import { WebhookReceiver } from "../../support/fakes/webhook_receiver.ts";
import { Process } from "../../support/harness/process.ts";
import { inFolder, withStore } from "../../support/harness/temp_store.ts";

const KEY = `apk_eu_${"d6".repeat(16)}`;
const HEADERS = { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" };

function settingsIn(folder: string) {
  return {
    RUNLEDGER_KV: `${folder}/test.kv`,
    RUNLEDGER_KEY: KEY,
    RUNLEDGER_EGRESS: "127.0.0.0/8",
  };
}

async function send(url: string, method: string, body: unknown): Promise<void> {
  const response = await fetch(url, { method, headers: HEADERS, body: JSON.stringify(body) });
  const text = await response.text();
  assert(response.ok, `${response.status} ${text}`);
}

/** Opens an incident: three failed runs of an agent. */
async function fail({ url }: Process, agent: string): Promise<void> {
  for (let n = 0; n < 3; n++) {
    await send(`${url}/v1/heartbeats`, "POST", { agent, status: "fail" });
  }
}

/** Ends the claims of a killed process. */
async function letClaimsPass(store: OpenStore, team: TeamId): Promise<void> {
  const key = keys.channelHealth(team, "ops");
  const { value } = await store.reader.get<StoredHealth>(key);
  if (value === null || value.claim === null) return;
  const health = { ...value, claim: { ...value.claim, until: 0 } };
  await store.writer.commit({
    sets: [{ key, value: health }, wakeRow(team, "ops", Date.now())],
  });
}

async function kill(process: Process): Promise<void> {
  assertEquals((await process.stop("SIGKILL")).signal, "SIGKILL");
}

inFolder.test("deliveries: each incident reaches its receiver with one id, wherever kill -9 strikes", async (folder) => {
  await using receiver = WebhookReceiver.start();
  const settings = settingsIn(folder);
  const agents: string[] = [];
  const next = () => agents[agents.push(`agent-${agents.length}`) - 1] as string;
  {
    await using process = await Process.start(settings);
    const channel = { type: "webhook", url: receiver.url, default: true };
    await send(`${process.url}/v1/channels/ops`, "PUT", channel);
    assertEquals((await process.stop()).code, 0);
  }
  // After the answer to the last run, at different moments of its way to the receiver.
  for (const ms of [0, 60, 150, 300]) {
    await using process = await Process.start(settings);
    await fail(process, next());
    await new Promise((resolve) => setTimeout(resolve, ms));
    await kill(process);
    await withStore(settings.RUNLEDGER_KV, letClaimsPass);
  }
  // While the receiver has the request, and as it answers.
  for (const answer of [null, 204]) {
    await using process = await Process.start(settings);
    const agent = next();
    receiver.answer = ({ message }) => message.endsWith(` ${agent}`) ? answer : 204;
    await fail(process, agent);
    await receiver.until((received) => received.some(({ message }) => message.endsWith(agent)));
    await kill(process);
    receiver.answer = () => 204;
    await withStore(settings.RUNLEDGER_KV, letClaimsPass);
  }
  await using process = await Process.start(settings);
  const isDelivered = (agent: string) =>
    receiver.received.some(({ message }) => message === `incident.opened ${agent}`);
  await receiver.until(() => agents.every(isDelivered));
  const last = next();
  await fail(process, last);
  await receiver.until(() => isDelivered(last));
  assertEquals((await process.stop()).code, 0);
  for (const agent of agents) {
    const ids = receiver.received.filter(({ message }) => message === `incident.opened ${agent}`)
      .map(({ id }) => id);
    assertEquals(new Set(ids).size, 1, `${agent}: ${ids}`);
  }
  const repeats = receiver.received.length - new Set(receiver.received.map(({ id }) => id)).size;
  assert(repeats >= 1 && repeats <= agents.length, `${repeats} repeats`);
});
