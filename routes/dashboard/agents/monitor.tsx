/** The monitor of an agent in its tab, or a proposal, and its forms, which do what the API does. */
import type { Child } from "hono/jsx";
import type { MonitorProposal } from "../../../domain/monitors/row.ts";
import type { JsonFields } from "../../../domain/core/body.ts";
import { existing } from "../../../domain/core/errors.ts";
import { isObject } from "../../../domain/core/raw_json.ts";
import { DAY_MS, HOUR_MS } from "../../../domain/core/time.ts";
import { scheduleWords } from "../../../domain/monitors/schedule.ts";
import { MONITORS, scheduleFieldsOf } from "../../../domain/monitors/body.ts";
import { NO_SUCH_AGENT } from "../../api/agents/agents.ts";
import { NO_SUCH_MONITOR } from "../../api/monitors/monitors.ts";
import { agentPath, AGENTS_PATH } from "../layout/paths.ts";
import { seeOther } from "../layout/page.tsx";
import { Crumbs, KeyValues, Section } from "../components/elements.tsx";
import { ConfirmForm, ConfirmLink } from "../components/table.tsx";
import { countedText, durationText, formatCount } from "../components/format.ts";
import { flipEntries, monitorFacts, MonitorStatus, Strip } from "../components/monitor.tsx";
import {
  bodyIn,
  checkDurations,
  filledForm,
  type FormValues,
  isStored,
  ObjectForm,
  type OpenForm,
  submitted,
} from "../objects/form.tsx";
import { type AgentScope, DELETES_MONITOR, loadMonitor, ofAgent } from "./agent_load.ts";

/** Shows the monitor, or says what one would do; below the form that changes or creates it. */
export async function monitorTab(scope: AgentScope): Promise<Child> {
  const { agent, now, isAdmin, confirms } = scope;
  const data = await loadMonitor(scope);
  const { monitor, flips, proposal } = data;
  const form = monitor === null
    ? filled(proposal === null ? {} : proposedFields(proposal))
    : filled(MONITORS.fieldsOf(monitor.settings), monitor.version);
  const actions = monitor && isAdmin && monitorActions(agent, monitor.pause !== null);
  return [
    confirms && isAdmin && confirmDeletion(agent),
    <Section id="monitor" title="Monitor" aside={actions}>
      {monitor !== null
        ? (
          <div class="monitor">
            <div>
              <p class="now">
                <MonitorStatus of={data} now={now} />
              </p>
              <Strip flips={flips} state={monitor.state} now={now} />
              <KeyValues pairs={monitorFacts(monitor, flips, now)} />
            </div>
            <ol class="story" aria-label="History">{flipEntries(flips)}</ol>
          </div>
        )
        : proposal !== null
        ? proposalOf(agent, proposal, isAdmin)
        : (
          <p class="soft">
            A monitor notices when a run does not come. A schedule is proposed here once the runs of
            this agent have a rhythm.
          </p>
        )}
    </Section>,
    <Section title={monitor === null ? "Create a monitor" : "Change the monitor"}>
      {isAdmin ? <ObjectForm pages={pagesOf(agent)} open={FIELDS} form={form} /> : ADMIN_ONLY}
    </Section>,
  ];
}

/** Shows the rhythm of an agent's latest runs, with a button that creates its monitor. */
export function proposalOf(agent: string, of: MonitorProposal, isAdmin: boolean, link?: Child) {
  const { schedule, graceSeconds, fromRuns, hits } = of;
  const gaps = fromRuns - 1;
  return (
    <div class="proposal">
      <p>
        {link} <strong>{scheduleWords(schedule)}</strong>
        {"cron" in schedule && ` (${schedule.tz})`}: {formatCount(Math.round(hits * gaps))}{" "}
        of the last {countedText(gaps, "run")}{" "}
        came in this rhythm. A monitor notices when one does not, and waits{" "}
        {durationText(graceSeconds * 1_000)} for it.
      </p>
      {isAdmin && createButton(agent, of)}
    </div>
  );
}

/** Path of the monitor's tab. */
export function monitorTabPath(agent: string): string {
  return `${agentPath(agent)}?tab=monitor`;
}

/** Changes of a monitor that its settings do not make. */
export const MONITOR_ACTIONS = ["pause", "resume", "delete"] as const;

type MonitorAction = typeof MONITOR_ACTIONS[number];

/** Path of a monitor's forms. */
function monitorPath(agent: string, action?: MonitorAction): string {
  return `${agentPath(agent)}/monitor${action === undefined ? "" : `/${action}`}`;
}

/** Shown instead of a form that the reader may not use. */
export const ADMIN_ONLY = <p class="soft">This takes a key with the scope admin.</p>;

/** Pages of the form: the agent is the name of its monitor. */
function pagesOf(agent: string) {
  return { of: { ...MONITORS, kind: "monitor" }, listPath: monitorPath(agent), hasSlug: false };
}

/** Returns the form of a stored monitor, or of a new one with the settings that are known. */
function filled(known: JsonFields, version = 0): FormValues {
  const { schedule = { every_seconds: DAY_MS / 1_000 } } = known;
  const kind = isObject(schedule) && "cron" in schedule ? "cron" : "every";
  return filledForm(MONITORS, { ...known, schedule, version, kind });
}

function proposedFields({ schedule, graceSeconds }: MonitorProposal): JsonFields {
  return { schedule: scheduleFieldsOf(schedule), grace_seconds: graceSeconds };
}

/** Reads a submitted form; fields of the other kind of schedule, which it hides, do not count. */
function readForm(sent: URLSearchParams): FormValues {
  const form = submitted(sent);
  const hidden = isCron(form) ? ["every_seconds"] : ["cron", "tz"];
  for (const name of hidden) form.delete(name);
  return form;
}

function isCron(form: FormValues): boolean {
  return form.get("kind") === "cron";
}

/** Returns the body of the API's call. */
function bodyOf(form: FormValues): JsonFields {
  const { schedule, version, ...body } = bodyIn(MONITORS.schema, form);
  const needed = { [isCron(form) ? "cron" : "every_seconds"]: "" };
  return {
    ...body,
    schedule: { ...needed, ...Object(schedule) },
    ...isStored(form) && { version },
  };
}

const FIELDS: OpenForm = {
  fields: (field) => [
    field("kind", "A run is expected", undefined, {
      options: [
        ["every", "each time a period has passed since the last one"],
        ["cron", "at the times of a cron line"],
      ],
    }),
    <div class="fields of-every">
      {field("every_seconds", "Period", "Such as 15m, 2h or 1d; from 60s to 365d.")}
    </div>,
    <div class="fields of-cron">
      {field("cron", "Cron line", "Minute, hour, day, month, weekday: 0 2 * * 1-5; or @daily.")}
      {field("tz", "Time zone", "Such as Europe/Berlin. Empty: UTC.")}
    </div>,
    <div class="fields">
      {field("grace_seconds", "Grace", GRACE_HINT)}
      {field("max_runtime_seconds", "Maximum duration", RUNTIME_HINT)}
      {field("failure_threshold", "Failures until it is down", "In a row.")}
      {field("recovery_threshold", "Successes until it is up again", "In a row.")}
    </div>,
    field("enabled", "Enabled"),
  ],
};

const GRACE_HINT = "How late a run may be before it is down. Empty: a fifth of the gap.";
const RUNTIME_HINT = "A longer run counts as a failure. Empty: no limit.";

/** One button that creates a monitor with settings. */
function createButton(agent: string, proposal: MonitorProposal) {
  const form = filled(proposedFields(proposal));
  return (
    <form class="one" method="post" action={monitorPath(agent)}>
      {[...form].map(([name, value]) => <input type="hidden" {...{ name, value }} />)}
      <button type="submit" class="btn main">Create monitor</button>
    </form>
  );
}

/** Lengths of a pause: hours, or when it ends without them. The first is the default. */
const PAUSES = [
  ["success", "until the next success"],
  ["1", "for 1 hour"],
  ["24", "for 1 day"],
  ["168", "for 7 days"],
  ["resume", "until it is resumed"],
] as const;

/** The buttons of a monitor. */
function monitorActions(agent: string, isPaused: boolean) {
  return (
    <div class="actions">
      <form class="one" method="post" action={monitorPath(agent, isPaused ? "resume" : "pause")}>
        {!isPaused && (
          <select name="length" aria-label="Length of the pause">
            {PAUSES.map(([name, text]) => <option value={name}>{text}</option>)}
          </select>
        )}
        <button type="submit" class="btn">{isPaused ? "Resume" : "Pause"}</button>
      </form>
      <ConfirmLink path={agentPath(agent)} action={DELETES_MONITOR} label="Delete…" />
    </div>
  );
}

/** Asks before a monitor is deleted. */
function confirmDeletion(agent: string) {
  return (
    <ConfirmForm
      action={monitorPath(agent, "delete")}
      title="Delete this monitor?"
      submit="Delete monitor"
      cancelTo={monitorTabPath(agent)}
    >
      <p>
        Its settings and its history are deleted. Runs of the agent stay. A ping with{" "}
        <code>every</code> or <code>cron</code> creates a new monitor.
      </p>
    </ConfirmForm>
  );
}

/** Creates or changes the monitor, or shows the form again. */
export const submitMonitor = ofAgent(async (scope) => {
  const { c, deps, team, agent, record, made, onProblem } = scope;
  const form = readForm(c.get("form"));
  const name = record.name ?? agent;
  onProblem((problem) => ({
    title: isStored(form) ? "Change the monitor" : "Create a monitor",
    crumbs: <Crumbs links={[["Agents", AGENTS_PATH], [name, agentPath(agent)]]} />,
    body: <ObjectForm pages={pagesOf(agent)} open={FIELDS} form={form} problem={problem} />,
  }));
  checkDurations(form);
  const { settings, version } = MONITORS.parse(bodyOf(form), made.at);
  const put = await deps.monitors.put(team, agent, settings, version, made);
  existing(put, NO_SUCH_AGENT);
  return seeOther(`${monitorTabPath(agent)}&done=saved`);
});

/** Pauses, resumes or deletes a monitor. */
export const submitMonitorAction = (action: MonitorAction) =>
  ofAgent(async ({ c, deps: { monitors }, team, agent, made }) => {
    const asked = c.get("form").get("length");
    const [length] = PAUSES.find(([name]) => name === asked) ?? PAUSES[0];
    const untilMs = Number(length) > 0 ? made.at + Number(length) * HOUR_MS : null;
    const changed = action === "resume"
      ? await monitors.resume(team, agent, made)
      : action === "delete"
      ? await monitors.remove(team, agent, made)
      : await monitors.pause(team, agent, { untilMs, isSticky: length !== "success" }, made);
    existing(changed, NO_SUCH_MONITOR);
    return seeOther(monitorTabPath(agent) + (action === "delete" ? "&done=deleted" : ""));
  });
