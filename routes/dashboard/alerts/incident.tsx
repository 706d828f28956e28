/** One incident: its facts, what to do, its runs, its deliveries, its story. */
import type { Child } from "hono/jsx";
import {
  type Incident,
  NOTE_CHARS_MAX,
  type TimelineEntry,
} from "../../../domain/alerts/incident.ts";
import { NamedRuns } from "../agents/named_runs.tsx";
import { At, LabelList, Section, Sign } from "../components/elements.tsx";
import { durationText, formatCount, listed } from "../components/format.ts";
import { Icon, type IconName } from "../components/icons.tsx";
import { tableSection } from "../components/table.tsx";
import { Actor } from "../keys/labels.tsx";
import { ALERTS_PATH, queryText, runPath, RUNS_PATH } from "../layout/paths.ts";
import { comparePath } from "../run/paths.ts";
import { deliveryTable } from "./delivery_table.tsx";
import type { AlertSetup } from "./frame.tsx";
import { SILENCE_LENGTHS } from "./incident_changes.ts";
import type { IncidentDetails } from "./alerts_load.ts";
import {
  countText,
  groupFact,
  IncidentMark,
  openFor,
  RESOLVED_LABELS,
  SeverityTag,
} from "./labels.tsx";
import { DELIVERIES_PATH, incidentPath, rulePath } from "./paths.ts";
import { ruleWords } from "./rule_words.ts";

interface IncidentPanelsProps {
  readonly incident: Incident;
  readonly details: IncidentDetails;
  readonly setup: AlertSetup;
}

export function IncidentPanels({ incident, details, setup }: IncidentPanelsProps) {
  const { deliveries, hasMore } = details;
  const { id, title, error, state } = incident;
  return (
    <div class="cols entry">
      <p class="only-s">
        <a href={ALERTS_PATH}>All open incidents</a>
      </p>
      <section class="panel" aria-labelledby="incident">
        <div class="incident">
          <h2 id="incident">
            <IncidentMark of={incident} /> <span>{title}</span>
          </h2>
          {error !== null && <p class="why">{error}</p>}
          <Facts incident={incident} setup={setup} />
          {setup.isAdmin && state !== "resolved" && (
            <Actions incident={incident} details={details} />
          )}
        </div>
      </section>
      {incident.runs.length > 0 && <Runs incident={incident} details={details} />}
      {tableSection("Deliveries", {
        ...deliveryTable({ deliveries, setup, page: incidentPath(id), ofIncident: true }),
        aside: hasMore && <a href={DELIVERIES_PATH + queryText([["incident", id]])}>All</a>,
        none: <p class="soft">{noDeliveries(setup, incident)}</p>,
      })}
      <Timeline incident={incident} details={details} />
    </div>
  );
}

/** Says why there is no delivery. */
function noDeliveries({ channels }: AlertSetup, { isSilenced }: Incident): string {
  if (isSilenced) return "A silence holds its messages back.";
  return channels.length === 0 ? "There is no channel, so nothing was sent." : "Nothing was sent.";
}

function Facts({ incident, setup }: Pick<IncidentPanelsProps, "incident" | "setup">) {
  const { state, group, severity, openedAt, isSilenced, acknowledged } = incident;
  const rule = setup.rules.find(({ slug }) => slug === incident.rule);
  const ruleFact = rule === undefined
    ? `${incident.rule} (deleted)`
    : [<a href={rulePath(rule.slug)}>{rule.slug}</a>, `: ${ruleWords(rule.settings)}`];
  return (
    <LabelList
      pairs={[
        [state === "resolved" ? "Was open for" : "Open for", openFor(incident, setup.now)],
        ["Since", <At at={openedAt} />],
        ["Rule", <span>{ruleFact}</span>],
        ["Severity", <SeverityTag of={severity} />],
        groupFact(group),
        ["Counted", countText(incident)],
        ["Value", valueText(incident)],
        ["State", state === "open" ? null : <span class="tag">{state}</span>],
        ["Note", acknowledged?.note ?? null],
        ["Messages", isSilenced ? <span class="tag warn">silenced</span> : null],
      ]}
    />
  );
}

/** Kinds whose values are dollars, seconds, or a share of a plan. */
const VALUE_TEXTS: ReadonlyMap<string, (value: number) => string> = new Map([
  ["run_cost", (value) => `$${value}`],
  ["spend", (value) => `$${value}`],
  ["budget", (value) => `$${value}`],
  ["stuck", (value) => durationText(value * 1_000)],
  ["quota", (value) => `${value}%`],
]);

/** Returns the measured value and the rule's; null without one. */
function valueText({ kind, value, threshold }: Incident): string | null {
  const text = VALUE_TEXTS.get(kind);
  if (text === undefined || value === null) return null;
  return threshold === null ? text(value) : `${text(value)} (limit ${text(threshold)})`;
}

/** The buttons of an open incident. */
function Actions(
  { incident: { id, state }, details: { runs: [latest], success } }: Pick<
    IncidentPanelsProps,
    "incident" | "details"
  >,
) {
  const changes = state === "open" ? ["acknowledge", "resolve"] : ["resolve"];
  return (
    <div class="act">
      <form class="one" method="post" action={incidentPath(id)}>
        <input
          type="text"
          name="note"
          aria-label="Note"
          placeholder="Note (optional)"
          maxlength={NOTE_CHARS_MAX}
        />
        {changes.map((change, i) => (
          <button type="submit" class={i === 0 ? "btn main" : "btn"} name="change" value={change}>
            {change === "resolve" ? "Resolve" : "Acknowledge"}
          </button>
        ))}
      </form>
      <details class="menu">
        <summary class="btn">
          <Icon name="mute" /> Silence
        </summary>
        <form method="post" action={incidentPath(id, "/silence")}>
          {SILENCE_LENGTHS.map(([name, label]) => (
            <button type="submit" name="length" value={name}>{label}</button>
          ))}
        </form>
      </details>
      {latest !== undefined && success !== null && (
        <a class="btn" href={comparePath(latest.id)}>Compare with last success</a>
      )}
    </div>
  );
}

function Runs({ incident, details: { runs } }: Pick<IncidentPanelsProps, "incident" | "details">) {
  const { group, count, kind, runs: ids } = incident;
  const filters = queryText([
    ["agent", group.agent],
    ["customer_id", group.customer],
    ["feature", group.feature],
    ["status", kind === "run_failed" ? "failed" : null],
  ]);
  return (
    <Section
      title="Runs"
      tag={formatCount(count)}
      aside={<a href={RUNS_PATH + filters}>Show in Runs</a>}
    >
      <NamedRuns label="Runs" runs={runs} none="They are deleted." />
      {count > ids.length && <p class="foot">The newest {formatCount(ids.length)} are listed.</p>}
    </Section>
  );
}

/** Entries shown before the others are folded. */
const UNFOLDED = 12;

/** The timeline in plain words, newest first. */
function Timeline({ incident, details }: Pick<IncidentPanelsProps, "incident" | "details">) {
  const entries = incident.timeline.toReversed().map((entry) => {
    const [icon, name, sentence] = lineOf(entry, incident, details);
    return (
      <li>
        <At at={entry.at} />
        <Sign icon={icon} name={name} />
        <span>{sentence}</span>
      </li>
    );
  });
  return (
    <Section title="Story">
      <ol class="story" aria-label="Story">{entries.slice(0, UNFOLDED)}</ol>
      {entries.length > UNFOLDED && (
        <details>
          <summary>{formatCount(entries.length - UNFOLDED)} earlier</summary>
          <ol class="story" aria-label="Earlier entries">{entries.slice(UNFOLDED)}</ol>
        </details>
      )}
    </Section>
  );
}

/** Words for a run that did the same again, by kind of the rule. */
const REPEATED_LABELS: ReadonlyMap<string, string> = new Map([
  ["run_failed", "A run failed"],
  ["check_failed", "A run failed a check"],
]);

type TimelineLine = readonly [icon: IconName, name: string, sentence: Child];

/** Returns the icon, the class and the sentence of an entry. */
function lineOf(
  entry: TimelineEntry,
  { kind }: Incident,
  { names }: IncidentDetails,
): TimelineLine {
  const by = (id: string) => <Actor id={id} name={names.get(id) ?? null} />;
  const noteOf = (note: string | null) => note === null ? "" : `: “${note}”`;
  switch (entry.what) {
    case "opened": {
      const count = countText({ kind, count: entry.count });
      return ["bell", "st-bad", count === null ? "Opened" : `Opened after ${count}`];
    }
    case "repeated": {
      const label = REPEATED_LABELS.get(kind) ?? "Another run";
      const link = entry.run !== null && <a href={runPath(entry.run)}>{label}</a>;
      return ["bad", "st-bad", link || "It happened again"];
    }
    case "notified":
      return ["send", "st-off", `Message for ${listed(entry.channels, 5)}`];
    case "silenced":
      return ["mute", "st-off", `A silence held the message for ${listed(entry.channels, 5)} back`];
    case "acknowledged":
      return ["user", "st-off", ["Acknowledged by ", by(entry.by), noteOf(entry.note)]];
    case "resolved": {
      const how = entry.by === null ? RESOLVED_LABELS[entry.resolvedBy] : ["by ", by(entry.by)];
      return ["ok", "st-ok", ["Resolved: ", how, noteOf(entry.note)]];
    }
    case "left_out":
      return ["log", "st-off", `${formatCount(entry.entries)} more, which are not kept`];
  }
}
