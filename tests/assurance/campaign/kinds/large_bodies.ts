/** Attacks with bodies that are too large to be parsed in one piece. */
import {
  BATCH_STRUCTURE_MAX,
  EVENT_BYTES_MAX,
  EVENTS_BODY_BYTES_MAX,
  JSON_DEPTH_MAX,
  WHOLE_BODY_BYTES_MAX,
} from "../../../../domain/core/limits.ts";
import { type Attack, attack } from "../attack.ts";
import { type Attacker, RATE } from "../attacker.ts";
import { anEvent, events, filled, gzip, nested, newId, noise, textOf } from "../values.ts";

/** Bytes reserved for a body without its largest part. */
const REST_BYTES = 300;

/** Returns the largest batch without events: an ignored field fills it. */
function largest(element: string): Uint8Array {
  const bytes = EVENTS_BODY_BYTES_MAX - REST_BYTES;
  return gzip(`{"more":${filled(bytes, element)},"events":[]}`);
}

/** Sends one batch to a new run. */
function batch(attacker: Attacker, body: unknown): Promise<unknown> {
  return attacker.post(`/v1/runs/${newId("run")}/events`, body);
}

function paced(attacker: Attacker, body: unknown): Promise<void> {
  return attacker.pace(RATE.ingest, () => batch(attacker, body), 64);
}

/** Attacks with the largest bodies. */
export const largeBodies: readonly Attack[] = [
  attack({
    name: "16 MiB of events",
    finding: null,
    does: "batches of 16 MiB of empty objects: five million events too many",
    async run(attacker) {
      const events = filled(EVENTS_BODY_BYTES_MAX - REST_BYTES, "{}");
      await paced(attacker, gzip(`{"events":${events}}`));
    },
  }),
  attack({
    name: "16 MiB of an unknown field",
    finding: null,
    does: "batches with 16 MiB of numbers in an ignored field",
    run: (attacker) => paced(attacker, largest("0")),
  }),
  attack({
    name: "16 MiB of levels",
    finding: null,
    does: "batches of as many levels as a batch may have, or of many more values of 64 levels",
    async run(attacker) {
      const half = BATCH_STRUCTURE_MAX - REST_BYTES;
      const space = " ".repeat(WHOLE_BODY_BYTES_MAX);
      const deep = gzip(`{"more":${"[".repeat(half)}${space}${"]".repeat(half)},"events":[]}`);
      const wide = largest(nested(JSON_DEPTH_MAX));
      let n = 0;
      await attacker.pace(RATE.ingest, () => batch(attacker, n++ % 2 ? deep : wide), 64);
    },
  }),
  attack({
    name: "one event of 16 MiB",
    finding: null,
    does: "events of 16 MiB of numbers, or of as many members as a batch may have, to be truncated",
    async run(attacker) {
      const bytes = EVENTS_BODY_BYTES_MAX - 2 * REST_BYTES;
      const wide = gzip(textOf(filled(bytes, "0"), 1));
      const count = BATCH_STRUCTURE_MAX - REST_BYTES;
      const members = gzip(textOf(`{${'"a":0,'.repeat(count)}"b":0}`, 1));
      let n = 0;
      await attacker.pace(RATE.ingest, () => batch(attacker, n++ % 2 ? members : wide), 64);
    },
  }),
  attack({
    name: "50 events of 256 KiB",
    finding: null,
    does: "batches of 13 MB of noise, and of numbers that are a few kB on the wire",
    async run(attacker) {
      const noisy = JSON.stringify(
        events(50, () => anEvent({ a: noise(EVENT_BYTES_MAX * 3 / 4 - REST_BYTES) })),
      );
      const wide = gzip(textOf(filled(EVENT_BYTES_MAX - REST_BYTES, "0"), 50));
      let n = 0;
      await attacker.pace(RATE.ingest, () => batch(attacker, n++ % 2 ? noisy : wide), 16);
    },
  }),
];
