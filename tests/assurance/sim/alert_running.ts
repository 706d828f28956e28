/** A running sequence with alerts: the model's side, and the complete comparison. */
import { assertEquals } from "@std/assert";
import type { OpenedChannelSettings } from "../../../domain/channels/channel.ts";
import type { Sender } from "../../../domain/channels/sender.ts";
import { WorkLoop } from "../../../jobs/work_loop.ts";
import { createChannelWork } from "../../../kv/channels/channel_work.ts";
import { createReportWork } from "../../../kv/channels/owner_report.ts";
import { createWorkStore } from "../../../kv/work/store.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { checkAlerts, type Received, receivedOf, type Silenced } from "./alert_reads.ts";
import { pass } from "./monitor_commands.ts";
import { DEFAULT_ALERTS } from "./alert_state.ts";
import type { Alerts } from "./alerts.ts";
import type { Play } from "./running.ts";
import type { World } from "./world.ts";
import type { OpenChannel } from "../../../kv/channels/seal.ts";

/** Milliseconds in which the clock sees what is due now. */
const DUE_NOW_MS = 3_000;

/** Channel that gets the messages of all rules. */
export const CHANNEL = {
  slug: "ops",
  body: { type: "webhook", url: "https://ops.test/in", default: true },
};

/** The model's side of a running sequence, with alerts. */
export interface AlertPlay extends Play {
  alerts: Alerts;
  readonly silences: Map<string, Silenced>;
  /** Silences that were replaced or deleted, until then. */
  readonly silenced: Silenced[];
  readonly received: Received[];
  silence(slug: string, next: Silenced | null, nowMs: number): void;
}

export function beginAlerts(play: Play): AlertPlay {
  const silences = new Map<string, Silenced>();
  const silenced: Silenced[] = [];
  return {
    ...play,
    ...{ alerts: DEFAULT_ALERTS, silences, silenced, received: [] },
    silence(slug, next, nowMs) {
      const old = silences.get(slug);
      if (old !== undefined) {
        silenced.push({ ...old, untilMs: Math.min(old.untilMs, nowMs) });
      }
      silences.delete(slug);
      if (next !== null) silences.set(slug, next);
    },
  };
}

/** Does everything that waits, and compares incidents and messages with the model. */
export async function compareAlerts(play: AlertPlay, world: World): Promise<void> {
  await pass(play, world, DUE_NOW_MS);
  const { nowMs } = world;
  // The receiver reads no secrets.
  await deliver(
    world,
    receiver(play),
    (_, { settings }) => Promise.resolve(settings as unknown as OpenedChannelSettings),
  );
  const facts = {
    alerts: play.alerts,
    silenced: [...play.silenced, ...play.silences.values()],
    received: play.received,
    channel: CHANNEL.slug,
  };
  await checkAlerts(play.state, facts, nowMs, (path) => readJson(world, path));
  const audit = await verifyStore(world.store, { team: world.team.id, pauseMs: 0 });
  assertEquals(audit.differences, []);
}

/** Sends all messages that are due within some time; one that waits for another is due a little later. */
export async function deliver(
  world: World,
  sender: Sender,
  open: OpenChannel,
  withinMs = Infinity,
): Promise<void> {
  const store = createWorkStore(world.store, Infinity);
  const job = new WorkLoop({
    store,
    handlers: [
      ...createChannelWork({
        store: world.store,
        sender: {
          send(envelope, ...rest) {
            world.noteMessage(envelope);
            return sender.send(envelope, ...rest);
          },
        },
        open,
        environment: { now: () => world.nowMs, random: (bytes) => new Uint8Array(bytes) },
        counts: { count: () => {} },
      }),
      createReportWork(world.store, null),
    ],
    lanes: ["send"],
    now: () => world.nowMs,
    log: (line) => void world.log.push(line),
  });
  const untilMs = world.nowMs + withinMs;
  for (let dueMs = 0; dueMs <= untilMs; dueMs = await store.nextMs("send") ?? Infinity) {
    if (dueMs === Infinity) break;
    world.nowMs = Math.max(world.nowMs, dueMs);
    await job.round();
  }
}

/** Returns what accepts each message and notes it. */
function receiver({ received }: AlertPlay): Sender {
  return {
    send(envelope) {
      received.push(...receivedOf(CHANNEL.slug, envelope));
      const none = { error: null, retryAfterMs: null, answer: null };
      return Promise.resolve({ verdict: "delivered", status: 204, ...none });
    },
  };
}

/** Reads the JSON of a path. */
// deno-lint-ignore no-explicit-any -- reads responses of any shape
export async function readJson(world: World, path: string): Promise<any> {
  const { status, text } = await world.send("GET", path);
  assertEquals(status, 200, `${path}: ${text}`);
  return JSON.parse(text);
}
