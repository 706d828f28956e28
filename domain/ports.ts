/**
 * What the routes need from the outside, in the words of the domain.
 *
 * @module
 */
import type {
  Conflict,
  FinishRequest,
  HeartbeatRequest,
  OpenRequest,
  Outcome,
} from "./runs/decide.ts";

import type { AuditEntry } from "./teams/audit_log.ts";
import type { CredentialRecord, Grant, Principal, Team, TeamId } from "./teams/credentials.ts";
import type { RunEvent } from "./runs/event.ts";
import type { Picodollars } from "./pricing/money.ts";
import type { RateSpec } from "./pricing/rate_body.ts";
import type { RateCard, RateMatch, RateRow } from "./pricing/rates.ts";
import type { PricedModels } from "./pricing/nearest_model.ts";
import type { Parsed, Problem } from "./core/errors.ts";
import type { AgentPatch } from "./agents/change.ts";
import type { AgentPage, AgentRecord, AgentsQuery } from "./agents/agents.ts";
import type { RunId } from "./core/ids.ts";
import type { StoredRun } from "./runs/record.ts";
import type { RollupGroup, RollupKind, RollupRow } from "./spend/rollup.ts";
import type { KeyPage, KeysQuery, ListedCredential } from "./teams/key_list.ts";
import type { RotateOutcome } from "./teams/rotation.ts";
import type { Notice, NoticeName, SendOutcome } from "./teams/quota_notice.ts";

/** The outcome of a call that may create an agent. */
export type CappedOutcome = Outcome | { readonly kind: "refused"; readonly problem: Problem };

/** The outcome of a batch of events (decision 20). */
export type AppendOutcome =
  | {
    readonly kind: "stored";
    readonly accepted: number;
    readonly duplicates: number;
    /** Events that were scores too many for their run (R17); absent for none. */
    readonly scoresDropped?: number;
  }
  | Conflict;

/** An event as a page of a run shows it. */
export interface PagedEvent extends Omit<RunEvent, "facts" | "score"> {
  /** Arrival of its batch, unix milliseconds. */
  readonly receivedAt: number;
  /** What it cost. */
  readonly cost: Picodollars;
  /** The row that priced it, with its rates at the time; null for what has no price. */
  readonly pricedBy: RateMatch | null;
}

/** An event in its place among the run's. */
export interface PlacedEvent extends PagedEvent {
  /** Where it stands: the events behind it come on the page after this position. */
  readonly position: EventPosition;
}

/** Where a page of events ends: by `ts`, then arrival (decisions, section 6). */
export interface EventPosition {
  /** Instant of the last event, unix milliseconds. */
  readonly ts: number;
  /** Number of its batch. */
  readonly batch: number;
  /** Its place in the batch. */
  readonly index: number;
}

/** A run read back, with one page of its events. */
export interface RunPage extends StoredRun {
  /** Events by `ts`, then arrival. */
  readonly events: readonly PlacedEvent[];
  /** Where the next page starts after, or null at the end. */
  readonly next: EventPosition | null;
  /** A place near the end of its events, if one was asked for; null where all are behind it. */
  readonly nearEnd: EventPosition | null;
}

/**
 * The ledger of runs. Every method answers only after the data is on disk, and rejects with
 * `StorageUnavailable` when that is not known.
 */
export interface RunStore {
  /** Opens a run. */
  open(team: Team, request: OpenRequest, receivedAt: number): Promise<CappedOutcome>;
  /** Stores a batch of events; the run need not be open yet. */
  append(
    team: Team,
    id: RunId,
    events: readonly RunEvent[],
    receivedAt: number,
  ): Promise<AppendOutcome>;
  /** Closes a run; it need not be open yet. */
  finish(team: Team, id: RunId, request: FinishRequest, receivedAt: number): Promise<Outcome>;
  /** Opens and closes a run in one call. */
  heartbeat(team: Team, request: HeartbeatRequest, receivedAt: number): Promise<CappedOutcome>;
  /**
   * Reads a run of the team with `limit` events behind a position, or null.
   *
   * @param limit 0 for a run without its events
   * @param fromEnd how many events `nearEnd` is to have behind it, more or less; absent for none
   */
  read(
    team: Team,
    id: RunId,
    after: EventPosition | null,
    limit: number,
    fromEnd?: number,
  ): Promise<RunPage | null>;
}

/** Where the price of a call is looked up. */
export interface RateCards {
  /** The team's card as it is now; at once when it is in memory. */
  card(team: Pick<Team, "id">): RateCard | Promise<RateCard>;
}

/** A team's own row, and where it comes from. */
export interface OwnRate {
  /** The row. */
  readonly row: RateRow;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Identifier of the credential that put it. */
  readonly createdBy: string;
  /** Why it is so, for people. */
  readonly note?: string;
}

/** The outcome of putting a row. */
export type PutRateOutcome =
  | { readonly kind: "stored" | "replayed"; readonly rate: OwnRate }
  | { readonly kind: "refused"; readonly problem: Problem };

/** The rate cards of all teams. A change is seen at once here, within 10 s in other processes. */
export interface RateCardStore extends RateCards {
  /** The priced models of the team's card, own and default ones. */
  models(team: Pick<Team, "id">): Promise<PricedModels>;
  /** The team's own rows as stored, by model, provider and date. */
  rows(team: Team): Promise<readonly OwnRate[]>;
  /**
   * Puts a row in the place of the one for the same provider, model and date, if there is one.
   * Putting the same again changes nothing.
   *
   * @param by identifier of the credential that does it
   */
  put(team: Team, spec: RateSpec, by: string): Promise<PutRateOutcome>;
  /** Deletes an own row; null when the team has none of that id. */
  delete(team: Team, id: string, by: string): Promise<OwnRate | null>;
}

/** The roll-ups: what the runs of each day come to. */
export interface SpendStore {
  /**
   * Reads the rows of one kind by day, some at a time.
   *
   * Each row is exactly its runs' sum at some moment of the reading; other rows may be of another.
   *
   * @param fromDay first UTC day, `YYYY-MM-DD`
   * @param toDay last UTC day, inclusive
   * @throws {StorageUnavailable} when the store fails or takes too long
   */
  rows(
    team: Team,
    kind: RollupKind,
    fromDay: string,
    toDay: string,
  ): AsyncIterable<readonly RollupRow[]>;
  /**
   * Answers a question that reads many rows: in its turn, and not for longer than a deadline.
   *
   * @param work reads the rows and makes the answer; must not ask another question
   * @returns its answer, or the refusal of a question that takes too long
   * @throws {Overloaded} when too many questions wait
   */
  ask<T>(team: Team, work: () => Promise<Parsed<T>>): Promise<Parsed<T>>;
  /**
   * Reads the rows of some groups on some days, in no order: for few groups among many.
   *
   * @param days UTC days, `YYYY-MM-DD`
   * @throws {StorageUnavailable} when the store fails or takes too long
   */
  some(
    team: Team,
    groups: readonly RollupGroup[],
    days: readonly string[],
  ): Promise<readonly RollupRow[]>;
}

/** The agents of all teams, and what their runs come to. */
export interface AgentStore {
  /** Reads one; null when the team has none of that slug. */
  read(team: Team, slug: string): Promise<AgentRecord | null>;
  /** Lists a page, or says why not in this order. */
  list(team: Team, query: AgentsQuery): Promise<Parsed<AgentPage>>;
  /**
   * Changes one, or says why not; null when the team has none of that slug.
   *
   * @param made identifier of the credential that does it, and when, for the audit log
   */
  change(
    team: Team,
    slug: string,
    patch: AgentPatch,
    made: Pick<AuditEntry, "at"> & { readonly by: string },
  ): Promise<Parsed<AgentRecord> | null>;
}

/** What a new credential is. */
export interface CredentialSpec {
  /** Name for people. */
  readonly name: string;
  /** What it may do. */
  readonly grant: Grant;
}

/** The credentials of all teams. */
export interface CredentialStore {
  /**
   * Whose secret this is; null when unknown or revoked.
   *
   * @param from names where it comes from: what has to be looked up takes turns by it
   */
  find(secret: string, from?: () => string): Principal | null | Promise<Principal | null>;
  /**
   * Creates a credential. The secret is in this answer and nowhere else.
   *
   * @param by who does it, for the audit log: the identifier of a credential
   */
  create(
    team: Pick<Team, "id">,
    spec: CredentialSpec,
    by: string,
  ): Promise<{ readonly record: CredentialRecord; readonly secret: string }>;
  /** Reads one; null when the team has none of that id. */
  read(team: Team, id: string): Promise<ListedCredential | null>;
  /** A page of the team's credentials, oldest first. */
  list(team: Team, query: KeysQuery): Promise<KeyPage>;
  /** Revokes one; null when the team has none of that id. Repeating changes nothing. */
  revoke(team: Team, id: string, by: string): Promise<CredentialRecord | null>;
  /**
   * Replaces one by a new one; null when the team has none of that id.
   *
   * @param overlapMs milliseconds for which the old secret goes on working
   */
  rotate(team: Team, id: string, overlapMs: number, by: string): Promise<RotateOutcome>;
  /** Looks at every credential and team again before it is let in: something of them changed. */
  forget(): void;
  /** Writes down when credentials were last used, where that is due; with `all` in any case. */
  writeUses(all?: boolean): Promise<void>;
}

/** The time and the randomness of the process. */
export interface Environment {
  /** Unix milliseconds. */
  now(): number;
  /** Fresh random bytes. */
  random(bytes: number): Uint8Array;
}

/** Events of one month. */
export interface MonthUse {
  /** The month, `YYYY-MM` in UTC. */
  readonly month: string;
  /** Events counted. */
  readonly used: number;
}

/** What teams use. Methods reject with `StorageUnavailable` when the store fails. */
export interface UsageStore {
  /** Events counted in a month, `YYYY-MM`. */
  used(team: TeamId, month: string): Promise<number>;
  /** The last months with usage, latest first. */
  months(team: TeamId, max: number): Promise<readonly MonthUse[]>;
  /** The notices of a month, by percent. */
  notices(team: TeamId, month: string): Promise<readonly Notice[]>;
}

/** A notice with the version it was read in. */
export interface ReadNotice {
  /** The notice. */
  readonly notice: Notice;
  /** Changes with it. */
  readonly version: string;
}

/** The notices about quotas as the job sees them. Methods reject with `StorageUnavailable`. */
export interface NoticeStore {
  /** All teams. */
  teams(): AsyncIterable<TeamId>;
  /** A team as it is now; null when there is none. */
  team(id: TeamId): Promise<Team | null>;
  /** Events counted in a month, `YYYY-MM`. */
  used(team: TeamId, month: string): Promise<number>;
  /** Whether there is such a notice. */
  has(name: NoticeName): Promise<boolean>;
  /** Stores a new notice; answers false when there is one of that name. */
  add(notice: Notice): Promise<boolean>;
  /** The notices about which something is still to be done. */
  open(): Promise<readonly ReadNotice[]>;
  /** Changes a notice; answers null when somebody else did since it was read. */
  change(known: ReadNotice, to: Notice): Promise<ReadNotice | null>;
}

/** An e-mail in plain text. */
export interface Mail {
  /** Address of the recipient. */
  readonly to: string;
  /** One line. */
  readonly subject: string;
  /** The text. */
  readonly text: string;
  /** The same for each try of one message, without its angle brackets: no space, at most 200 characters. */
  readonly messageId: string;
}

/** Sends e-mails. */
export interface Mailer {
  /**
   * Sends one. It never rejects.
   *
   * @param given called once the mail server is ready for the text and before it gets any; when it
   * rejects, the server does not get it
   * @param signal ends the try early
   */
  send(mail: Mail, given: () => Promise<void>, signal: AbortSignal): Promise<SendOutcome>;
}
