/** Builds what alerts need: the stores of their objects, and the job that sends messages. */
import { DeliveryMetrics } from "../runtime/delivery_metrics.ts";
import type { Environment } from "../domain/core/environment.ts";
import type { Region } from "../domain/core/ids.ts";
import type { Mailer } from "../domain/core/mail.ts";
import { DeliveryJob } from "../jobs/deliveries.ts";
import type { Turn } from "../runtime/loop.ts";
import { createIncidentStore } from "../kv/alerts/incidents.ts";
import { createRuleStore } from "../kv/alerts/rules.ts";
import { createSilenceStore } from "../kv/alerts/silences.ts";
import { createDeliveryStore } from "../kv/channels/deliveries.ts";
import { createDeliveryQueue } from "../kv/channels/queue.ts";
import { createSealer, type SealKeys } from "../kv/channels/seal.ts";
import { createChannelStore } from "../kv/channels/store.ts";
import { createChannelTester } from "../kv/channels/tester.ts";
import type { TeamChanges } from "../kv/monitors/team_changes.ts";
import type { Store } from "../kv/store.ts";
import type { Egress } from "../outbound/egress.ts";
import { resolveHost } from "../outbound/http.ts";
import { createSender } from "../outbound/sender.ts";

/** Dependencies and settings of alerts. */
export interface AlertOptions {
  readonly store: Store;
  readonly changes: TeamChanges;
  readonly environment: Environment;
  readonly region: Region;
  /** Sends messages of channels and reports to owners; null without a mail server. */
  readonly mailer: Mailer | null;
  /** Addresses that channels may call. */
  readonly egress: Egress;
  /** Origin of links in messages; null for no links. */
  readonly publicUrl: string | null;
  /** Key of the secrets of channels. */
  readonly sealKeys: SealKeys;
  readonly turn: Turn;
  readonly log: (line: string) => void;
}

export function createAlerts(options: AlertOptions) {
  const { store, environment, region, mailer, egress, publicUrl, turn, log } = options;
  const { now } = environment;
  const metrics = new DeliveryMetrics();
  const sealer = createSealer(options.sealKeys, environment);
  const channels = createChannelStore({ ...options, sealer, hasMailServer: mailer !== null });
  const sender = createSender({ egress, mailer, publicUrl, resolve: resolveHost });
  const { open } = channels;
  const queue = createDeliveryQueue({
    store,
    random: () => new DataView(environment.random(4).buffer).getUint32(0) / 2 ** 32,
    onChanged: ({ type, state }) => metrics.count(type, state),
  });
  return {
    metrics,
    job: new DeliveryJob({ queue, sender, open, mailer, turn, now, log }),
    /** Stores, for the routes. */
    stores: {
      rules: createRuleStore(options),
      silences: createSilenceStore(options),
      channels,
      incidents: createIncidentStore(options),
      deliveries: createDeliveryStore(store),
      channelTester: createChannelTester({
        store,
        sender,
        open,
        region,
        environment,
        onEnded: ({ channelType, state }) => metrics.count(channelType, state),
      }),
    },
  };
}
