/** The state of a channel in words. */
import type { ChannelHealth } from "../../../domain/channels/channel.ts";
import type { Delivery } from "../../../domain/channels/delivery.ts";
import type { Channel } from "../../../domain/channels/store.ts";
import { Icon, type IconName } from "../components/icons.tsx";
import { Ago } from "../components/time.tsx";

/** A channel without deliveries. */
export const NO_HEALTH: ChannelHealth = {
  state: "ok",
  lastOkAt: null,
  failingSince: null,
  lastError: null,
};

/** The word, the icon and the class of each state. */
const HEALTH_LABELS: Readonly<
  Record<ChannelHealth["state"], readonly [string, IconName, string]>
> = {
  ok: ["Works", "ok", "st-ok"],
  failing: ["Failing", "warn", "st-warn"],
  broken: ["Broken", "bad", "st-bad"],
  needs_secret: ["Needs its secret", "warn", "st-warn"],
};

/** Returns whether a delivery is a test that failed: tests change no health but for the better. */
function hasFailed(latest: Delivery | undefined): boolean {
  return latest?.message.event === "channel.test" && (latest.tries.at(-1)?.error ?? null) !== null;
}

interface HealthProps {
  readonly channel: Channel;
  readonly health: ChannelHealth;
  /** Its latest delivery; undefined if none is listed. */
  readonly latest: Delivery | undefined;
  readonly now: number;
}

/** The state of a channel, since when, and its last error. */
export function HealthOf({ channel: { settings }, health, latest, now }: HealthProps) {
  const { state, failingSince, lastOkAt, lastError } = health;
  const [word, icon, name] = !settings.enabled
    ? ["Disabled", "paused", "st-paused"] as const
    : state === "ok" && hasFailed(latest)
    ? ["Test failed", "bad", "st-bad"] as const
    : state === "ok" && lastOkAt === null
    ? ["Not used yet", "new", "st-off"] as const
    : HEALTH_LABELS[state];
  return (
    <>
      <span class={`st word ${name}`}>
        <Icon name={icon} />
        <span>{word}</span>
      </span>
      {state !== "ok" && failingSince !== null && (
        <span class="soft">
          {" since "}
          <Ago at={failingSince} now={now} />
        </span>
      )}
      {state !== "ok" && lastError !== null && <span class="under">{lastError}</span>}
      {settings.enabled && state === "ok" && hasFailed(latest) && (
        <span class="under">{latest?.tries.at(-1)?.error}</span>
      )}
    </>
  );
}
