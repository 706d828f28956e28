/**
 * Stores channels with their sealed secrets.
 *
 * @module
 */
import type {
  Channel,
  ChannelSettings,
  OpenedChannelSettings,
  Sealer,
} from "../../domain/channels/channel.ts";
import { NEW_HEALTH } from "../../domain/channels/delivery.ts";
import { CHANNELS, SECRET_PREFIX } from "../../domain/channels/channel_body.ts";
import type { EgressPolicy } from "../../domain/channels/sender.ts";
import { NO_MAIL_SERVER } from "../../domain/core/mail.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { differenceOf } from "../../domain/teams/audit_log.ts";
import type { MadeBy, Team } from "../../domain/teams/team.ts";
import { keys } from "../base/keys.ts";
import { readHealths } from "./delivery_rows.ts";
import { type ConfigRow, isObject } from "../config/objects.ts";
import { change, createConfigStore } from "../config/object_store.ts";
import type { ObjectDeps } from "../team/team_rows.ts";
import { getAll, type Store } from "../store.ts";
import { ChannelSecrets, opening, sealSettings } from "./seal.ts";
import { HOUR_MS } from "../../domain/core/time.ts";

/** Dependencies of the store. */
export interface ChannelStoreDeps extends ObjectDeps {
  readonly sealer: Sealer;
  readonly egress: EgressPolicy;
  /** False if e-mail cannot be sent (R28). */
  readonly hasMailServer: boolean;
}

/** Bytes of a generated secret. */
const SECRET_BYTES = 32;

/** Stores channels. */
export type ChannelStore = ReturnType<typeof createChannelStore>;

/**
 * Creates the store of channels. A secret that a `PUT` leaves empty stays as it is; a webhook's that
 * was never set is generated. An address that may not be called is refused.
 */
export function createChannelStore(deps: ChannelStoreDeps) {
  const { store, sealer, egress, hasMailServer, environment } = deps;
  const secretsOf = (team: TeamId, slug: string) => new ChannelSecrets(sealer, team, slug);
  const mint = () => `${SECRET_PREFIX}${environment.random(SECRET_BYTES).toBase64()}`;
  const channels = createConfigStore<ChannelSettings, OpenedChannelSettings>(deps, {
    ...CHANNELS,
    async complete({ team, slug, sent, before }) {
      const spare = mint();
      const stored = before?.settings ?? null;
      const secrets = secretsOf(team, slug);
      const settings = await sealSettings({
        ...{ secrets, egress, hasMailServer, sent, spare, before: stored },
      });
      const isSpareUsed = sent.type === "webhook" && sent.secret === "" &&
        stored?.type !== "webhook";
      return isSpareUsed ? { settings, secret: spare } : { settings };
    },
  });
  const open = opening(sealer);
  return {
    ...channels,
    /**
     * Replaces the secret of a webhook; both sign until the end of the overlap.
     *
     * @returns the new secret, readable only here; null if the team has no such webhook. Refused
     * without a key to seal it with
     */
    rotate: (team: Team, slug: string, overlapHours: number, made: MadeBy) =>
      rotate(deps, secretsOf(team.id, slug), { team, slug, overlapHours, made, secret: mint() }),
    /** Returns the state of channels, by slug. */
    health: ({ id: team }: Pick<Team, "id">, slugs: readonly string[]) =>
      store.reads.run(team, async () => {
        const [healths, channels] = await Promise.all([
          readHealths(store, team, slugs),
          readChannels(store, team, slugs),
        ]);
        const shown = new Map(healths);
        for (const channel of channels) {
          const health = healths.get(channel.slug) ?? NEW_HEALTH;
          if (channel.settings.type === "email" && !hasMailServer && health.state === "ok") {
            shown.set(channel.slug, { ...health, state: "failing", lastError: NO_MAIL_SERVER });
            continue;
          }
          const isOpen = await open({ id: team }, channel) !== null;
          // The stored state is that of the last try.
          if (isOpen && health.state !== "needs_secret") continue;
          const state = isOpen ? health.failingSince === null ? "ok" : "failing" : "needs_secret";
          shown.set(channel.slug, { ...health, state });
        }
        return shown;
      }),
  };
}

/** A rotation to a new secret. */
interface Rotation {
  readonly team: Team;
  readonly slug: string;
  readonly overlapHours: number;
  readonly made: MadeBy;
  readonly secret: string;
}

type Rotated = { readonly channel: Channel; readonly secret: string } | null;

function rotate(
  deps: ChannelStoreDeps,
  secrets: ChannelSecrets,
  { team, slug, overlapHours, made, secret }: Rotation,
): Promise<Rotated> {
  return change<ChannelSettings, Rotated>(deps, CHANNELS, team, slug, made, async (row) => {
    if (row === null || !isObject(row) || row.settings.type !== "webhook") return { result: null };
    const { settings } = row;
    const sealed = await secrets.seal("secret", secret, null);
    const untilMs = made.at + overlapHours * HOUR_MS;
    // A secret that cannot be opened cannot sign.
    const overlaps = overlapHours > 0 && await secrets.open("secret", settings.secret) !== null;
    const after: Channel = {
      ...row,
      version: row.version + 1,
      settings: {
        ...settings,
        secret: sealed,
        previous: overlaps ? { secret: settings.secret, untilMs } : null,
      },
      updatedAt: made.at,
      updatedBy: made.by,
    };
    const changes = differenceOf(CHANNELS.fieldsOf(settings), CHANNELS.fieldsOf(after.settings));
    return {
      result: { channel: after, secret },
      row: after,
      before: row,
      action: "channel.rotated",
      details: { ...changes, overlap_hours: overlapHours },
    };
  });
}

async function readChannels(
  store: Store,
  team: TeamId,
  slugs: readonly string[],
): Promise<Channel[]> {
  const entries = await getAll(
    store,
    slugs.map((slug) => keys.configObject(team, "channel", slug)),
  );
  return entries.flatMap(({ value }) => {
    const row = value as ConfigRow<ChannelSettings> | null;
    return row !== null && isObject(row) ? [row] : [];
  });
}
