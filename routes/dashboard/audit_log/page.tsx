/** `/dashboard/audit`: the audit log, newest first. */
import { OPERATOR } from "../../../domain/teams/credentials.ts";
import { CONFIG_KINDS, type ConfigKind } from "../../../domain/core/ids.ts";
import { ADMIN_PER_PAGE } from "../../../domain/core/limits.ts";
import { DAY_MS, parseInstant } from "../../../domain/core/time.ts";
import {
  type AuditAction,
  type AuditValue,
  parseAuditQuery,
  type ReadAuditEntry,
} from "../../../domain/teams/audit_log.ts";
import { teamKeyOrOperator } from "../../http/access.ts";
import { auditCursor, parseAuditCursor } from "../../api/audit_log/audit_log.ts";
import { queryOf } from "../../http/query.ts";
import type { DashboardPage, PageHandler } from "../layout/page.tsx";
import { type Column, FilterForm, listPage, nextPath } from "../components/table.tsx";
import { At } from "../components/elements.tsx";
import { exactText } from "../assets/time.js";
import { formOf, type Option } from "../components/form_fields.tsx";
import { Actor, ACTORS } from "../keys/labels.tsx";
import { jobPath } from "../rate_card/paths.ts";
import { durationText } from "../components/format.ts";

import * as paths from "../layout/paths.ts";
import { DELIVERIES_PATH, incidentPath } from "../alerts/paths.ts";

/** Filters, in the order of the form. */
const FILTERS = ["who", "what", "from", "to"] as const;

/** Maximum pages that one search reads: a page with rare matches ends early. */
const PAGES_MAX = 20;

/** Shows the entries that match the filters, read in pages until one is full. */
const showAuditLog: PageHandler = async ({ c, deps, team, principal: { grant } }) => {
  const { auditLog, credentials } = deps;
  const parameters = new URLSearchParams(queryOf(c));
  const query = parseAuditQuery(apiQuery(parameters), parseAuditCursor);
  const texts = Object.fromEntries(FILTERS.map((name) => [name, parameters.get(name) ?? ""]));
  const entries: ReadAuditEntry[] = [];
  let next = query.after;
  for (let pages = 0; pages < PAGES_MAX && entries.length < query.limit; pages++) {
    const page = await auditLog.page(team.id, { ...query, after: next });
    entries.push(
      ...page.entries.filter(({ actor, action }) =>
        (!texts.who || actor === texts.who) && (!texts.what || objectOf(action) === texts.what)
      ),
    );
    next = page.next;
    if (next === null) break;
  }
  const isOperator = grant.kind === OPERATOR.grant.kind;
  const all = { limit: ADMIN_PER_PAGE.max, after: null, agent: null };
  const keys = isOperator ? [] : (await credentials.list(team, all)).records;
  const actors: Option[] = [
    ["", "anyone"],
    ...ACTORS,
    ...keys.map(({ id, name }) => [id, name] as const),
  ];
  // A date field cannot show the time of an instant.
  const days = { from: texts.from?.slice(0, 10) ?? "", to: texts.to?.slice(0, 10) ?? "" };
  const { day, choice } = formOf({ ...texts, ...days }, null);
  return listPage({
    title: "Audit",
    filters: (
      <FilterForm action={paths.AUDIT_LOG_PATH}>
        {!isOperator && choice("who", "Who", actors)}
        {choice("what", "What", [["", "anything"], ...OBJECTS])}
        {day("from", "From (UTC)")}
        {day("to", "To (day included)")}
      </FilterForm>
    ),
    table: {
      label: "Changes",
      class: "fold",
      caption: isOperator
        ? "Changes by the operator, newest first."
        : "Newest first; kept for ever.",
      columns: columnsFor(isOperator, c.get("frame").hasOperator),
      rows: entries,
    },
    empty: [
      next === null ? "Nothing changed" : "None of the latest changes",
      <>
        Changes of keys, prices, agents and the team are listed here for ever, with their actors.
        {" "}
        <a href={paths.AUDIT_LOG_PATH}>Show all times</a>
      </>,
    ],
    next: nextPath(
      paths.AUDIT_LOG_PATH,
      { ...texts, limit: parameters.get("limit") },
      next && auditCursor(next),
    ),
  });
};

/**
 * Returns the query that the API takes: without the filters of this page, and with instants instead
 * of days. `from` becomes the start of its day, `to` the end of its day.
 */
function apiQuery(parameters: URLSearchParams): string {
  const query = new URLSearchParams(
    [...parameters].filter(([name, value]) => value !== "" && name !== "who" && name !== "what"),
  );
  for (const [name, days] of [["from", 0], ["to", 1]] as const) {
    const day = query.get(name) ?? "";
    const ms = /^\d{4}-\d\d-\d\d$/.test(day) ? parseInstant(`${day}T00:00:00Z`) : null;
    if (ms !== null) query.set(name, new Date(ms + days * DAY_MS).toISOString());
  }
  return query.toString();
}

type AuditObject = AuditAction extends `${infer Name}.${string}` ? Name : never;

/** Returns the kind of object that an action changes. */
function objectOf(action: AuditAction): AuditObject {
  return action.slice(0, action.indexOf(".")) as AuditObject;
}

/** Words of a kind of objects: its name in the filter, those before a target, and its page. */
type KindWords = readonly [name: string, noun: string, pageOf?: (target: string) => string];

/** Kinds of configured objects that have no page of each. */
const LISTED: readonly ConfigKind[] = ["pause", "silence"];

/** Returns the words of a kind of configured objects. */
function wordsOf(kind: ConfigKind): KindWords {
  const list = paths.objectsPath(kind);
  return [`${kind}s`, `the ${kind}`, LISTED.includes(kind) ? () => list : paths.pathsBelow(list)];
}

const OTHER_KINDS: Readonly<Record<Exclude<AuditObject, ConfigKind>, KindWords>> = {
  agent: ["agents", "the agent", paths.agentPath],
  credential: ["keys", "the key", paths.keyPath],
  customer: ["customers", "a customer"],
  delivery: ["deliveries", "the delivery", () => DELIVERIES_PATH],
  incident: ["incidents", "the incident", incidentPath],
  monitor: ["monitors", "the monitor of", paths.agentPath],
  rate: ["prices", "the price of", () => paths.RATE_CARD_PATH],
  reprice: ["repricing", "the calls of", jobPath],
  run: ["runs", "the run"],
  team: ["teams", "the team", () => paths.PLAN_PATH],
};

const KINDS = {
  ...Object.fromEntries(CONFIG_KINDS.map((kind) => [kind, wordsOf(kind)])),
  ...OTHER_KINDS,
} as Readonly<Record<AuditObject, KindWords>>;

const OBJECTS = Object.entries(KINDS).map(([kind, [name]]) => [kind, name] as const).sort();

/** Texts of actions that are not the verb of the action and the noun of the object. */
const ACTION_TEXTS: Partial<Readonly<Record<AuditAction, string>>> = {
  "channel.rotated": "rotated the secret of the channel",
  "channel.broken": "found that nothing reaches the channel",
  "delivery.resent": "sent the delivery again",
  "reprice.started": "repriced calls of",
};

/** Returns the text of an action, before its target. */
function actionText({ action, details }: ReadAuditEntry): string {
  if (action === "reprice.started" && details.dry_run === true) return "previewed new prices of";
  const verb = action.slice(action.indexOf(".") + 1);
  return ACTION_TEXTS[action] ?? `${verb === "put" ? "set" : verb} ${KINDS[objectOf(action)][1]}`;
}

function columnsFor(isOperator: boolean, hasPlan: boolean): readonly Column<ReadAuditEntry>[] {
  return [
    { head: "When", cell: ({ at }) => <At at={at} /> },
    {
      head: "Change",
      class: "whole",
      cell: (entry) => (
        <>
          <Actor id={entry.actor} name={entry.actorName} /> {actionText(entry)} {isOperator
            ? <a href={paths.teamPath(entry.team)}>{entry.team}</a>
            : targetOf(entry, hasPlan)}
        </>
      ),
      attributes: ({ action }) => ({ title: action }),
    },
    { head: "Details", class: "whole", cell: detailsOf },
  ];
}

/** Characters of a target that are enough to recognise it. */
const TARGET_CHARS = 60;

/** Shows the target of an action, with a link if it still has a page. */
function targetOf({ action, target, details }: ReadAuditEntry, hasPlan: boolean) {
  const object = objectOf(action);
  const name = [details, details.after, details.before].filter(isFields)
    .map((state) => state[NAMES[object] ?? ""]).find((value) => typeof value === "string");
  // The end of a long id is enough.
  const isId = /^[a-z]{3,6}_(?:eu|us)_[0-9a-f]{32}$/.test(target);
  const full = String(name ?? (isId ? `…${target.slice(-8)}` : target));
  const text = full.length > TARGET_CHARS ? `${full.slice(0, TARGET_CHARS)}…` : full;
  const isGone = action.endsWith(".deleted") && object !== "monitor";
  const to = isGone || object === "team" && !hasPlan ? undefined : KINDS[object][2]?.(target);
  return to === undefined
    ? <span title={target}>{text}</span>
    : <a href={to} title={target}>{text}</a>;
}

/** Details that name an object better than its id. */
const NAMES: Partial<Readonly<Record<AuditObject, string>>> = {
  credential: "name",
  team: "name",
  rate: "model",
  reprice: "model",
};

type Fields = { readonly [name: string]: AuditValue };

/** Maximum characters of details shown unfolded. */
const CHARS_SHOWN = 300;

/** Shows the details of an entry; long ones are folded. */
function detailsOf({ details }: ReadAuditEntry) {
  const texts = textsOf(details);
  const text = texts.join(" · ");
  return text.length <= CHARS_SHOWN ? text : (
    <details>
      <summary>{texts.length} details</summary>
      {text}
    </details>
  );
}

/** Returns the values that were set, and what changed as "before → after". */
function textsOf({ before = null, after = null, ...rest }: Fields): string[] {
  const isChange = isFields(before) && isFields(after);
  // An object that was created or deleted has one state: only what is set says something.
  const set = isChange
    ? rest
    : { ...rest, ...isFields(before) && before, ...isFields(after) && after };
  const texts = Object.entries(set).map(([name, value]) => [nameText(name), valueText(name, value)])
    .filter(([, text]) => text !== "none").map((pair) => pair.join(": "));
  if (!isChange) return texts;
  const changes = Object.keys(after).map((name) => {
    const [old, fresh] = [before, after].map((state) => valueText(name, state[name]));
    return `${nameText(name)}: ${old} → ${fresh}`;
  });
  return [...texts, ...changes];
}

function nameText(name: string): string {
  return name.replace(/_seconds$/, "").replaceAll("_", " ");
}

function isFields(value: AuditValue | undefined): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An instant as details have it. */
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** Returns a value in words; seconds as a duration, of which zero is none. */
function valueText(name: string, value: AuditValue | undefined): string {
  if (value === null || value === undefined) return "none";
  if (name.endsWith("_seconds") && typeof value === "number") {
    return value === 0 ? "none" : durationText(value * 1_000);
  }
  if (Array.isArray(value)) return value.map((item) => valueText("", item)).join(", ") || "none";
  const at = typeof value === "string" && INSTANT.test(value) ? Date.parse(value) : NaN;
  if (!Number.isNaN(at)) return exactText(at, "UTC");
  if (!isFields(value)) return String(value);
  return Object.entries(value).map(([name, member]) => [nameText(name), valueText(name, member)])
    .filter(([, text]) => text !== "none").map((pair) => pair.join(" ")).join(", ") || "none";
}

export const auditLogPage: DashboardPage = {
  path: paths.AUDIT_LOG_PATH,
  menu: { name: "Audit", area: "settings" },
  access: teamKeyOrOperator("admin"),
  handler: showAuditLog,
};
