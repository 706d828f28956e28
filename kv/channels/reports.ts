/**
 * Reports about channels that do not work and deliveries that failed (decision 87).
 *
 * @module
 */
import { isBlocked, type StoredHealth } from "../../domain/channels/health.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { formatInstantOrNull } from "../../domain/core/time.ts";
import { SERVICE_ACTOR } from "../../domain/teams/audit_log.ts";
import { dueSet } from "../clock/due_rows.ts";
import { readConfig } from "../config/objects.ts";
import type { Store } from "../store.ts";
import { auditRows } from "../teams/audit_log.ts";
import type { KvSet } from "../writer/write.ts";
import { readHealths } from "./health.ts";

/** Returns whether a team has another default channel that works, so that it gets the incident. */
export async function hasOtherChannel(store: Store, team: TeamId, slug: string): Promise<boolean> {
  const { channels } = await readConfig(store, team);
  const others = channels
    .filter(({ slug: other, settings }) => other !== slug && settings.isDefault && settings.enabled)
    .map((channel) => channel.slug);
  const healths = await readHealths(store, team, others);
  return others.some((other) => {
    const health = healths.get(other);
    return health !== undefined && !isBlocked(health);
  });
}

/** States of a channel before and after a change. */
type Healths = Pick<StoredHealth, "state">;

/**
 * Returns the due rows at which rules of the kind `service` are judged: if a channel stops or starts
 * to work, or a delivery has failed.
 */
export async function troubleRows(
  store: Store,
  team: TeamId,
  before: Healths,
  after: Healths,
  atMs: number,
  hasDead = false,
): Promise<KvSet[]> {
  const isSame = isBlocked(before) === isBlocked(after);
  if (isSame && !hasDead) return [];
  const { rules } = await readConfig(store, team);
  return rules
    .filter(({ settings }) => settings.condition.kind === "service" && settings.enabled)
    .map(({ slug }) => dueSet({ at: atMs, kind: "rule", team, name: slug }));
}

/** Returns the audit entry of a channel that this change breaks. */
export function brokenRows(
  team: TeamId,
  slug: string,
  before: Healths,
  after: Healths & Pick<StoredHealth, "lastError" | "failingSince">,
  atMs: number,
): readonly KvSet[] {
  if (before.state === "broken" || after.state !== "broken") return [];
  const { lastError, failingSince } = after;
  return auditRows({
    at: atMs,
    team,
    actor: SERVICE_ACTOR,
    action: "channel.broken",
    target: slug,
    details: { error: lastError, failing_since: formatInstantOrNull(failingSince) },
  });
}
