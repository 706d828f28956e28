/** One incident: its facts, what to do, its runs, its deliveries, its story. */
import { type Incident, NOTE_CHARS_MAX } from "../../../domain/alerts/incident.ts";
import type { Rule } from "../../../domain/alerts/rule.ts";
import type { Delivery } from "../../../domain/channels/delivery.ts";
import { DELIVERY_DAYS } from "../../../domain/channels/store.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { AppDeps } from "../../http/context.ts";
import { ALERTS_PATH, queryText, RUNS_PATH } from "../layout/paths.ts";
import { comparePath } from "../run/paths.ts";
import { NAMED_RUN_COLUMNS, readRecords } from "../agents/named_runs.tsx";
import { type ActorNames, actorNames } from "../keys/labels.tsx";
import { LabelList, Section } from "../components/elements.tsx";
import { durationText, formatCount } from "../components/format.ts";
import { Icon } from "../components/icons.tsx";
import { Table } from "../components/table.tsx";
import { At } from "../components/time.tsx";
import { DeliveryTable } from "./delivery_table.tsx";
import type { AlertSetup } from "./frame.tsx";
import { SILENCE_LENGTHS } from "./incident_changes.ts";
import { GroupLink, IncidentMark, openFor, SeverityTag } from "./labels.tsx";
import { DELIVERIES_PATH, incidentPath, rulePath } from "./paths.ts";
import { ruleWords } from "./rule_words.ts";
import { IncidentStory } from "./story.tsx";
import { DAY_MS } from "../../../domain/core/time.ts";

/** Maximum deliveries shown. */
const DELIVERIES_MAX = 20;

/** What an incident's page shows in addition to the incident. */
export interface IncidentContent {
  /** Its newest runs that are still stored, newest first. */
  readonly runs: readonly RunRecord[];
  /** Its deliveries, latest first. */
  readonly deliveries: readonly Delivery[];
  /** True if it has more deliveries. */
  readonly hasMore: boolean;
  /** Names of the keys that changed it. */
  readonly names: ActorNames;
}

/** Reads what an incident's page shows. */
export async function readIncidentDetails(
  deps: AppDeps,
  team: Team,
  incident: Incident,
): Promise<IncidentContent> {
  const { id, runs, timeline } = incident;
  const authors = timeline.flatMap((entry) => "by" in entry && entry.by !== null ? [entry.by] : []);
  const [records, deliveries, names] = await Promise.all([
    readRecords(deps, team, runs),
    deps.deliveries.list(team, {
      ...{ incident: id, channel: null, state: null, limit: DELIVERIES_MAX, after: null },
      fromMs: deps.environment.now() - DELIVERY_DAYS * DAY_MS,
    }),
    actorNames(deps, team, authors),
  ]);
  return {
    runs: records,
    deliveries: [
      ...deliveries.deliveries,
      ...await readOlder(deps, team, incident, deliveries.deliveries),
    ],
    hasMore: deliveries.next !== null,
    names,
  };
}

/** Reads the latest delivery to each channel that a list of the team's latest ones lacks. */
async function readOlder(
  { deliveries }: AppDeps,
  team: Team,
  incident: Incident,
  listed: readonly Delivery[],
): Promise<readonly Delivery[]> {
  const known = new Set(listed.map(({ channel }) => channel));
  const missing = Object.entries(incident.deliveries).filter(([channel]) => !known.has(channel));
  const older = await Promise.all(missing.map(([, id]) => deliveries.read(team, id)));
  return older.filter((delivery) => delivery !== null);
}

interface DetailsProps extends IncidentContent {
  readonly incident: Incident;
  readonly setup: AlertSetup;
  /** True if the page is the incident's own: on a phone its list is another page. */
  readonly isAlone: boolean;
}

export function IncidentDetails(props: DetailsProps) {
  const { incident, runs, deliveries, hasMore, setup, isAlone } = props;
  return (
    <div class="cols entry">
      {isAlone && (
        <p class="only-s">
          <a href={ALERTS_PATH}>All open incidents</a>
        </p>
      )}
      <section class="panel" aria-labelledby="incident">
        <div class="incident">
          <h2 id="incident">
            <IncidentMark of={incident} /> <span>{incident.title}</span>
          </h2>
          {incident.error !== null && <p class="why">{incident.error}</p>}
          <Facts {...props} />
          {setup.isAdmin && incident.state !== "resolved" && <Actions incident={incident} />}
        </div>
      </section>
      {incident.runs.length > 0 && <Runs incident={incident} runs={runs} />}
      <Section
        title="Deliveries"
        aside={hasMore && (
          <a href={DELIVERIES_PATH + queryText([["incident", incident.id]])}>
            All
          </a>
        )}
      >
        {deliveries.length === 0
          ? <p class="soft">{noDeliveries(setup, incident)}</p>
          : (
            <DeliveryTable
              label="Deliveries"
              deliveries={deliveries}
              isAdmin={setup.isAdmin}
              page={incidentPath(incident.id)}
              ofIncident
            />
          )}
      </Section>
      <IncidentStory {...props} />
    </div>
  );
}

/** Says why there is no delivery. */
function noDeliveries({ channels }: AlertSetup, { isSilenced }: Incident): string {
  if (isSilenced) return "A silence holds its messages back.";
  return channels.length === 0 ? "There is no channel, so nothing was sent." : "Nothing was sent.";
}

function Facts({ incident, setup }: DetailsProps) {
  const { state, rule: slug, group, severity, count, openedAt, isSilenced, acknowledged } =
    incident;
  const rule = setup.rules.find((rule) => rule.slug === slug);
  const [[name = ""] = []] = Object.entries(group);
  return (
    <LabelList
      pairs={[
        [state === "resolved" ? "Was open for" : "Open for", openFor(incident, setup.now)],
        ["Since", <At at={openedAt} />],
        ["Rule", <RuleLink slug={slug} rule={rule} />],
        ["Severity", <SeverityTag of={severity} />],
        [
          name.charAt(0).toUpperCase() + name.slice(1),
          name === "" ? null : <GroupLink group={group} />,
        ],
        ["Count", formatCount(count)],
        ["Value", valueText(incident)],
        ["State", state === "open" ? null : <span class="tag">{state}</span>],
        ["Note", acknowledged?.note ?? null],
        ["Messages", isSilenced ? <span class="tag warn">silenced</span> : null],
      ]}
    />
  );
}

function RuleLink({ slug, rule }: { readonly slug: string; readonly rule: Rule | undefined }) {
  if (rule === undefined) return <>{slug} (deleted)</>;
  return (
    <span>
      <a href={rulePath(slug)}>{slug}</a>: {ruleWords(rule.settings)}
    </span>
  );
}

/** Kinds whose values are dollars, seconds, or a share of a plan. */
const VALUE_TEXTS: ReadonlyMap<string, (value: number) => string> = new Map([
  ["run_cost", (value) => `$${value}`],
  ["spend", (value) => `$${value}`],
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
function Actions({ incident: { id, state, runs } }: { readonly incident: Incident }) {
  const [latest] = runs;
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
        {state === "open" && (
          <button type="submit" class="btn main" name="change" value="acknowledge">
            Acknowledge
          </button>
        )}
        <button
          type="submit"
          class={state === "open" ? "btn" : "btn main"}
          name="change"
          value="resolve"
        >
          Resolve
        </button>
      </form>
      <details class="menu">
        <summary class="btn">
          <Icon name="mute" /> Silence
        </summary>
        <form method="post" action={incidentPath(id, "/silence")}>
          {Object.entries(SILENCE_LENGTHS).map(([name, text]) => (
            <button type="submit" name="length" value={name}>{text}</button>
          ))}
        </form>
      </details>
      {latest !== undefined && (
        <a class="btn" href={comparePath(latest)}>Compare with last success</a>
      )}
    </div>
  );
}

function Runs({ incident, runs }: Pick<DetailsProps, "incident" | "runs">) {
  const { group, count } = incident;
  const more = count - incident.runs.length;
  const filters = queryText([
    ["agent", group.agent],
    ["customer_id", group.customer],
    ["feature", group.feature],
    ["status", incident.kind === "run_failed" ? "failed" : null],
  ]);
  return (
    <Section
      title="Runs"
      aside={
        <>
          <span class="tag">{formatCount(count)}</span>
          <a href={RUNS_PATH + filters}>Show in Runs</a>
        </>
      }
    >
      {runs.length === 0
        ? <p class="soft">They are deleted.</p>
        : <Table label="Runs" class="fold failed-runs" columns={NAMED_RUN_COLUMNS} rows={runs} />}
      {more > 0 && <p class="foot">The newest {formatCount(incident.runs.length)} are listed.</p>}
    </Section>
  );
}
