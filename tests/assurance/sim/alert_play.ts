/** Plays sequences of commands about alerts: `deno task assure sim-alerts`. */
import { assertEquals } from "@std/assert";
import { CHECKS } from "./alert_outcomes.ts";
import { alertSequences } from "./alert_commands.ts";
import { type AlertPlay, beginAlerts, CHANNEL, compareAlerts } from "./alert_running.ts";
import { createPlayer, createRun, type Side } from "./play.ts";

export const ALERTS_SIDE: Side<AlertPlay> = {
  begin: beginAlerts,
  ...alertSequences,
  async prepare(world) {
    // Runs that are stuck are looked at each minute, which takes long in days.
    await world.send("DELETE", "/v1/rules/stuck");
    const put = async (path: string, body: unknown) => {
      const { status, text } = await world.send("PUT", path, JSON.stringify(body));
      assertEquals(status, 202, text);
    };
    await put(`/v1/channels/${CHANNEL.slug}`, CHANNEL.body);
    for (const [slug, { expression, severity }] of Object.entries(CHECKS)) {
      await put(`/v1/checks/${slug}`, { expression, severity });
    }
  },
  compare: compareAlerts,
};

/** Plays the sequence of a seed. */
export const playAlertSeed = createPlayer(ALERTS_SIDE);

export const run = createRun("sim-alerts", playAlertSeed);
