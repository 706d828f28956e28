/**
 * Counts what happens to deliveries, by type of channel.
 *
 * @module
 */
import type { MetricFamily } from "./metric_text.ts";
import { CHANNEL_TYPES, type ChannelType } from "../domain/channels/channel.ts";
import type { DeliveryState } from "../domain/channels/delivery.ts";

/** Counted states: a try ends in one of them, or a delivery ends without a try. */
const OUTCOMES = [
  "delivered",
  "retrying",
  "dead",
  "cancelled",
] as const satisfies readonly DeliveryState[];

/** Counts of one process. */
export class DeliveryMetrics {
  readonly #counts = new Map<string, number>();

  /** Counts a delivery that got a new state. */
  count(type: ChannelType, state: DeliveryState): void {
    const name = `${type} ${state}`;
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** Returns the family of the counts. */
  family(): MetricFamily {
    return {
      type: "counter",
      name: "runledger_deliveries_total",
      help: "Messages to channels by result: delivered, to be tried again, given up, or cancelled.",
      samples: CHANNEL_TYPES.flatMap((type) =>
        OUTCOMES.map((outcome) => ({
          labels: { channel_type: type, outcome },
          value: this.#counts.get(`${type} ${outcome}`) ?? 0,
        }))
      ),
    };
  }
}
