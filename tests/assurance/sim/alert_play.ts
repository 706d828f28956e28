/** Plays sequences of commands about alerts: `deno task assure sim-alerts`. */
import { assertEquals } from "@std/assert";
import { alertSequences } from "./alert_commands.ts";
import { beginAlerts, CHANNEL, compareAlerts } from "./alert_running.ts";
import { createPlayer, createSideRun } from "./side_play.ts";

/** Plays the sequence of a seed. */
export const playAlertSeed = createPlayer({
  begin: beginAlerts,
  sequences: alertSequences,
  async prepare(world) {
    // Runs that are stuck are looked at each minute, which takes long in days.
    await world.send("DELETE", "/v1/rules/stuck");
    const { slug, body } = CHANNEL;
    const { status, text } = await world.send("PUT", `/v1/channels/${slug}`, JSON.stringify(body));
    assertEquals(status, 202, text);
  },
  compare: compareAlerts,
});

export const run = createSideRun("sim-alerts", playAlertSeed);
