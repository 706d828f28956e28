/**
 * Rows of an export that no run implies, and the rows that follow from them.
 *
 * @module
 */
import type { AgentActivity } from "../../domain/agents/agents.ts";
import type { Incident } from "../../domain/alerts/incident.ts";
import type { Delivery } from "../../domain/channels/delivery.ts";
import type { EarlierKind, LineOf, RowKind } from "../../domain/core/export_format.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { RollupRow } from "../../domain/spend/rollup.ts";
import { incidentAtSet } from "../alerts/rows.ts";
import { packJson, unpackJson } from "../base/blob.ts";
import { decodeMonitor, encodeMonitor } from "../base/codec_monitors.ts";
import { keyParts, keys } from "../base/keys.ts";
import { endedRows, queuedRow, storedRows } from "../channels/delivery_rows.ts";
import { PINGS_NAMED_MS } from "../runs/open_pings.ts";
import { decodeRollup, encodeRollup, rollupKey } from "../spend/rollups.ts";
import type { StoredCredential } from "../teams/credential_rows.ts";
import { noticeSets } from "../teams/quota_work.ts";
import type { Notice } from "../../domain/teams/quota.ts";
import type { Work } from "../../domain/work/work.ts";
import { workSet } from "../work/store.ts";
import type { KvSet } from "../writer/group.ts";
import { type Monitor, runOutcome, withMissed } from "../../domain/monitors/row.ts";
import type { Outcome } from "../../domain/outcomes/window.ts";

/** Families of keys that an import derives again. */
const DERIVED = [
  "run",
  "events",
  "chunk",
  "dirty",
  "purge",
  "team_credential",
  "agent_activity",
  "rollup",
  "rollup_day",
  "run_by",
  "block",
  "expiry",
  "change",
  "check_stat",
  "check_failure",
  "incident_at",
  "open_incident",
  "delivery_at",
  "dead_delivery",
  "failed",
] as const;

/** Families of processes, of writes that were not committed, and of people who sign in again. */
const LEFT_OUT = [
  "staged",
  "format",
  "lease",
  "receipt",
  "probe",
  "rate_bucket",
  "session",
  "session_by",
] as const;

/** Families of keys that no line of an export has. */
export const UNLISTED: ReadonlySet<unknown> = new Set([...DERIVED, ...LEFT_OUT]);

/** Returns the line of a row; null if an import derives the row. */
export function rowLine(kind: RowKind, { key, value }: Deno.KvEntry<unknown>): string | null {
  // The run has its deadline, and says what it waits for; the events of removed runs stay behind.
  if (kind === "work" && isOfRun(keyParts.work(key))) return null;
  return JSON.stringify({
    kind,
    key: key.slice(1).map(toJson),
    value: toJson(decoded(key, value)),
  });
}

export function rowsOf({ kind, key: parts, value: json }: LineOf<RowKind | EarlierKind>): KvSet[] {
  // The line of the notice says so too.
  if (kind === "open_notice") return [];
  const work = workOf(kind, parts);
  // Earlier exports have the number of failures alone; the work is tried as if it had none.
  if (work !== null) {
    return [{ ...workSet(work), ...typeof json === "object" ? { value: json } : {} }];
  }
  const key = [kind, ...parts.map(fromJson) as Deno.KvKeyPart[]];
  const value = currentValue(kind, fromJson(json));
  const expiry = kind === "open_pings" ? { expireIn: PINGS_NAMED_MS } : {};
  return [{ key, value: encoded(kind, value), ...expiry }, ...impliedRows(key, value)];
}

function isOfRun({ kind }: Pick<Work, "kind">): boolean {
  return kind === "idle" || kind === "run" || kind === "purge";
}

/** Returns the row of the work queue in a line, of any version; null for another line. */
function workOf(kind: RowKind | EarlierKind, key: readonly unknown[]) {
  switch (kind) {
    case "work":
      return keyParts.work(["work", ...key as Deno.KvKeyPart[]]);
    case "due":
      return keyParts.work(["work", "", ...key as Deno.KvKeyPart[]]);
    case "delivery_due": {
      const [at, team, name] = key as [number, TeamId, string];
      return { at, kind: "channel", team, name } as const;
    }
    case "active_deletion":
    case "active_reprice": {
      const [team, name] = key as [TeamId, string];
      return {
        at: 0,
        kind: kind === "active_reprice" ? "reprice" : "deletion",
        team,
        name,
      } as const;
    }
    default:
      return null;
  }
}

/** Compressed rows are JSON in an export, and sums have names. */
function decoded(key: Deno.KvKey, value: unknown): unknown {
  if (key[0] === "agent_count") return Number((value as Deno.KvU64).value);
  if (key[0] === "monitor") return decodeMonitor(value);
  if (!(value instanceof Uint8Array)) return value;
  switch (key[0]) {
    case "alert":
    case "incident":
      return unpackJson(value);
    case "removed_rollup":
      return decodeRollup(keyParts.day(key), value);
    default:
      return value;
  }
}

function encoded(kind: RowKind | EarlierKind, value: unknown): unknown {
  switch (kind) {
    case "agent_count":
      return new Deno.KvU64(BigInt(value as number));
    case "alert":
    case "incident":
      return packJson(value);
    case "monitor":
      return encodeMonitor(value as Monitor);
    case "removed_rollup":
      return encodeRollup(value as RollupRow);
    default:
      return value;
  }
}

/** Returns the rows that follow from a row. */
function impliedRows(key: Deno.KvKey, value: unknown): KvSet[] {
  const team = key[1] as TeamId;
  switch (key[0]) {
    case "credential": {
      const { id, team } = value as StoredCredential;
      return [{ key: keys.teamCredential(team, id), value: key[1] }];
    }
    case "incident": {
      const incident = value as Incident;
      const { id, severity, state } = incident;
      const open = { key: keys.openIncident(team, id), value: severity };
      return [incidentAtSet(team, incident), ...state === "resolved" ? [] : [open]];
    }
    case "delivery": {
      const delivery = value as Delivery;
      const isLost = delivery.message.event !== "channel.test";
      return [
        ...storedRows(team, delivery).slice(1),
        ...isLost ? endedRows(team, delivery) : [],
        // Earlier versions queued one delivery for several.
        ...queuedRow(team, delivery),
      ];
    }
    case "notice":
      return noticeSets(value as Notice).slice(1);
    // Sums of removed runs are a part of the sums of all.
    case "removed_rollup": {
      const row = value as RollupRow;
      const day = { key: keys.rollupDay(team, row.day), value: true };
      return [{ key: rollupKey(team, row), value: encodeRollup(row) }, day];
    }
    case "removed_agent":
      return [{ key: keys.agentActivity(team, String(key[2])), value: value as AgentActivity }];
    default:
      return [];
  }
}

/** Tags of values that JSON does not have. */
const TAG = {
  bytes: "$bytes",
  big: "$int",
  counter: "$sum",
  number: "$num",
  object: "$obj",
} as const;
const UNDEFINED = "undefined";

/**
 * Returns JSON for a stored value. JSON has no bytes, no large integers, and no undefined: such a value
 * is an object whose only field is its tag. An object that has a field with a tag's name is wrapped.
 */
export function toJson(value: unknown): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      // JSON also has no sign of zero.
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : { [TAG.number]: Object.is(value, -0) ? "-0" : String(value) };
    case "bigint":
      return { [TAG.big]: String(value) };
    case "undefined":
      return { [TAG.number]: UNDEFINED };
    case "object":
      return value === null ? null : objectToJson(value);
    default:
      throw new TypeError(`A row cannot hold a ${typeof value}`);
  }
}

function objectToJson(value: object): unknown {
  if (value instanceof Uint8Array) return { [TAG.bytes]: value.toBase64() };
  if (value instanceof Deno.KvU64) return { [TAG.counter]: String(value.value) };
  if (Array.isArray(value)) return value.map(toJson);
  if (Object.getPrototypeOf(value) !== Object.prototype) {
    throw new TypeError(`A row cannot hold a ${value.constructor.name}`);
  }
  const fields = Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, toJson(part)]),
  );
  return Object.values<string>(TAG).some((tag) => tag in fields)
    ? { [TAG.object]: fields }
    : fields;
}

/** Returns the value that {@link toJson} returned JSON for. */
export function fromJson(json: unknown): unknown {
  if (typeof json !== "object" || json === null) return json;
  if (Array.isArray(json)) return json.map(fromJson);
  const [[tag, content] = [], ...more] = Object.entries(json);
  if (more.length === 0) {
    switch (tag) {
      case TAG.bytes:
        return Uint8Array.fromBase64(String(content));
      case TAG.big:
        return BigInt(String(content));
      case TAG.counter:
        return new Deno.KvU64(BigInt(String(content)));
      case TAG.number:
        return content === UNDEFINED ? undefined : Number(content);
      case TAG.object:
        return fieldsFromJson(content as object);
    }
  }
  return fieldsFromJson(json);
}

function fieldsFromJson(json: object): unknown {
  return Object.fromEntries(Object.entries(json).map(([name, part]) => [name, fromJson(part)]));
}

/** Returns the value of a row as this version stores it. */
function currentValue(kind: RowKind | EarlierKind, value: unknown): unknown {
  // The row of a team's jobs did not list those in progress.
  if ((kind === "deletion" || kind === "reprice") && value === true) return [];
  const earlier = value as EarlierOutcomes;
  if (kind === "alert" && earlier.outcomes !== undefined) {
    const { base, kept } = earlier.outcomes;
    const last = base.last && currentOutcome(base.last);
    return { ...earlier, outcomes: { base: { ...base, last }, kept: kept.map(currentOutcome) } };
  }
  if (kind !== "monitor" || earlier.signals === undefined) return value;
  const { base: { name, isDown, fails, oks, ...base }, signals, missedAt, ...rest } = earlier;
  const kept = signals.map(({ at, run, outcome }) => runOutcome(KINDS[outcome], run, at));
  const key = name.replace(/ (ok|fail)$/, (_, outcome: "ok" | "fail") => ` ${KINDS[outcome]}`);
  const streak = { ...base, isFiring: isDown, bads: fails, goods: oks, key };
  return withMissed(
    { ...rest, outcomes: { base: streak, kept } } as unknown as Monitor,
    missedAt ?? null,
  );
}

/** Kinds of outcomes by their names in earlier exports. */
const KINDS = { ok: "good", fail: "bad", overrun: "overrun" } as const;

/** An outcome that an earlier export may name good or bad by a flag. */
type EarlierOutcome = Partial<Outcome> & { readonly isBad?: boolean };

/** Members of groups and monitors in earlier exports. */
interface EarlierOutcomes {
  readonly outcomes?: {
    readonly base: { readonly last: EarlierOutcome | null };
    readonly kept: readonly EarlierOutcome[];
  };
  readonly base: {
    readonly name: string;
    readonly isDown: boolean;
    readonly fails: number;
    readonly oks: number;
  };
  readonly signals?: readonly {
    readonly at: number;
    readonly run: RunId;
    readonly outcome: keyof typeof KINDS;
  }[];
  readonly missedAt?: number | null;
}

function currentOutcome({ isBad, ...outcome }: EarlierOutcome): EarlierOutcome {
  return isBad === undefined ? outcome : { ...outcome, kind: isBad ? "bad" : "good" };
}
