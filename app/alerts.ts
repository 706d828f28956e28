/** Builds what alerts need: the stores of their objects, and the job that sends messages. */
import { DeliveryMetrics } from "../runtime/delivery_metrics.ts";
import { DeliveryJob } from "../jobs/deliveries.ts";
import type { Turn } from "../runtime/loop.ts";
import { createIncidentStore } from "../kv/alerts/incidents.ts";
import { createRuleStore } from "../kv/alerts/rules.ts";
import { createSilenceStore } from "../kv/alerts/silences.ts";
import { createDeliveryStore } from "../kv/channels/deliveries.ts";
import { createDeliveryQueue } from "../kv/channels/queue.ts";
import { createSealer } from "../kv/channels/seal.ts";
import { createChannelStore } from "../kv/channels/store.ts";
import { createChannelTester } from "../kv/channels/tester.ts";
import type { TeamChanges } from "../kv/monitors/team_changes.ts";
import { resolveHost } from "../outbound/http.ts";
import { createSender } from "../outbound/sender.ts";
import type { ServiceOptions } from "./service_options.ts";

/** Settings of the service, and what it has built before. */
interface AlertOptions
  extends
    Required<Pick<ServiceOptions, "egress" | "publicUrl" | "sealKeys">>,
    Pick<ServiceOptions, "store" | "environment" | "region" | "mailer" | "log"> {
  readonly changes: TeamChanges;
  readonly turn: Turn;
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
