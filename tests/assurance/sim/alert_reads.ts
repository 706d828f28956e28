/**
 * Expected reads of incidents and messages once nothing is waiting: the open incidents are the
 * model's, and each incident agrees with its messages and runs.
 *
 * An incident that opened and closed in between depends on what was known then (decision 74), so of
 * those only the relations are compared.
 */
import { assert, assertEquals } from "@std/assert";
import type { Envelope } from "../../../domain/channels/sender.ts";
import { KNOWN_KINDS } from "./alert_state.ts";
import { type Alerts, type Firing, groupName, openIncidents } from "./alerts.ts";
import type { Fields, State } from "./shape.ts";

export interface Received {
  readonly channel: string;
  readonly id: string;
  readonly event: string;
  readonly at: number;
  readonly incident: string;
}

/** Time in which the messages about a rule were silenced; null for all rules. */
export interface Silenced {
  readonly rule: string | null;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Knowledge of the comparison in addition to the state. */
interface AlertFacts {
  readonly alerts: Alerts;
  readonly silenced: readonly Silenced[];
  readonly received: readonly Received[];
  /** Channel that exists from the beginning, and gets the messages of all rules. */
  readonly channel: string | null;
}

// deno-lint-ignore no-explicit-any -- reads responses of any shape
type Read = (path: string) => Promise<any>;

/** Compares incidents, their runs and messages with the model's. */
export async function checkAlerts(
  state: State,
  facts: AlertFacts,
  now: number,
  read: Read,
): Promise<void> {
  const all = await incidentsOf(read);
  const open = all.filter(({ state }) => state !== "resolved");
  const known = open.filter(({ kind }) => KNOWN_KINDS.has(kind)).map(firingOf)
    .sort((a, b) => groupName(a.rule, a.group) < groupName(b.rule, b.group) ? -1 : 1);
  const wanted = openIncidents({ ...state, alerts: facts.alerts }, now);
  assertEquals(known.map(inOrder), wanted.map(inOrder), "open incidents");
  for (const incident of all) checkCounts(await read(`/v1/incidents/${incident.id}`));
  checkTurns(all);
  for (const id of Object.keys(state.runs)) {
    const naming = all.filter(({ run_ids }) => run_ids.includes(id)).map((each) => each.id);
    const { incidents } = await read(`/v1/runs/${id}`);
    // A run that was reopened stays with the incident that counted it.
    const missing = naming.filter((each) => !incidents.includes(each));
    assertEquals(missing, [], `incidents of ${id}`);
  }
  if (facts.channel !== null) await checkMessages(all, facts, facts.channel, now, read);

  /** Calls that are summarized together make one passage of a cost, at the last of them. */
  function inOrder(firing: Firing): Firing {
    const isOfCost = facts.alerts.rules[firing.rule]?.settings.kind === "run_cost";
    return isOfCost ? { ...firing, runs: firing.runs.toSorted() } : firing;
  }
}

/** Returns the rows of a list. */
// deno-lint-ignore no-explicit-any -- reads responses of any shape
export async function incidentsOf(read: Read, query = "limit=500"): Promise<any[]> {
  const { incidents, cursor } = await read(`/v1/incidents?${query}`);
  return cursor === null ? incidents : [
    ...incidents,
    ...await incidentsOf(read, `limit=500&cursor=${encodeURIComponent(cursor)}`),
  ];
}

// deno-lint-ignore no-explicit-any -- an incident of a response
export function firingOf({ rule, group, severity, state, count, run_ids }: any): Firing {
  const [name = null] = Object.values(group as Record<string, string>);
  return { rule, group: name, severity, state, count, runs: run_ids };
}

/** The timeline explains the count, the state and the times. */
// deno-lint-ignore no-explicit-any -- an incident of a response
function checkCounts({ id, count, timeline, state, kind, resolved_at, opened_at }: any): void {
  const of = (what: string) => timeline.filter((entry: Fields) => entry.what === what);
  assertEquals(of("opened").length, 1, `${id} opened once`);
  assertEquals(of("resolved").length, state === "resolved" ? 1 : 0, `${id} resolved once`);
  const counted = of("opened")[0].count + of("repeated").length;
  if (KNOWN_KINDS.has(kind)) assert(counted >= count, `${id}: ${counted} entries of ${count}`);
  assert(resolved_at === null || resolved_at >= opened_at, `${id} ended before it began`);
}

/** A group has one incident at a time. */
// deno-lint-ignore no-explicit-any -- incidents of a response
function checkTurns(all: readonly any[]): void {
  const groups = Map.groupBy(all, ({ rule, group }) => JSON.stringify([rule, group]));
  for (const [name, incidents] of groups) {
    const open = incidents.filter(({ state }) => state !== "resolved");
    assert(open.length <= 1, `${open.length} open incidents of ${name}`);
  }
}

/** No change of an incident without its message, in order, and no message without the change. */
async function checkMessages(
  // deno-lint-ignore no-explicit-any -- incidents of a response
  all: readonly any[],
  { received, silenced }: AlertFacts,
  channel: string,
  now: number,
  read: Read,
): Promise<void> {
  const ours = received.filter((message) => message.channel === channel);
  const known = new Set(all.map(({ id }) => id));
  for (const { incident } of ours) assert(known.has(incident), `a message of no ${incident}`);
  const isMuted = (rule: string, at: number) =>
    silenced.some((each) => (each.rule ?? rule) === rule && each.fromMs <= at && at < each.untilMs);
  for (const { id, rule, state, acknowledged } of all) {
    const first = new Map(
      ours.filter(({ incident }) => incident === id).toReversed()
        .map((message) => [message.id, message]),
    );
    const messages = [...first.values()].toReversed();
    const events = messages.map(({ event }) => event.replace("incident.", ""))
      .filter((event) => event !== "updated").join(" ");
    const wasMuted = silenced.some((each) => (each.rule ?? rule) === rule);
    // What a user knows of already is not sent when the silence ends.
    const isUntold = wasMuted && events === "" &&
      (state === "resolved" || acknowledged !== null || isMuted(rule, now));
    const wanted = [
      "opened",
      ...acknowledged === null ? [] : ["acknowledged"],
      ...state === "resolved" ? ["resolved"] : [],
    ].join(" ");
    // One that was acknowledged while it was silenced is sent no message about the acknowledgement.
    const isAllowed = isUntold || events === wanted ||
      wasMuted && events === wanted.replace("acknowledged ", "");
    assert(isAllowed, `${id} of ${rule}, ${state}: "${events}", not "${wanted}"`);
    for (const { event, at } of messages) {
      const isNews = event === "incident.opened" || event === "incident.updated";
      assert(!isNews || !isMuted(rule, at), `${event} of ${id} in spite of a silence`);
    }
  }
  const { deliveries } = await read(`/v1/deliveries?channel=${channel}&limit=500`);
  const states = new Set(deliveries.map(({ state }: Fields) => state));
  assertEquals([...states].filter((state) => state !== "delivered"), [], "states of deliveries");
  const stored = deliveries.map(({ id }: Fields) => id).sort();
  assertEquals(stored, [...new Set(ours.map(({ id }) => id))].sort(), "deliveries");
}

export function receivedOf(channel: string, { id, messages }: Envelope): Received[] {
  return messages.map(({ event, at, incident }) => ({
    ...{ channel, id, event, at, incident: incident?.id ?? "" },
  }));
}
