/** The monitor of an agent in its tab, or a proposal, and its forms, which do what the API does. */
import type { Child } from "hono/jsx";
import type { MonitorProposal } from "../../../domain/monitors/store.ts";
import { existing, orRefuse, type Problem } from "../../../domain/core/errors.ts";
import { HOUR_MS } from "../../../domain/core/time.ts";
import { durationWord, scheduleWords } from "../../../domain/monitors/schedule.ts";
import { parseMonitorTexts } from "../../../domain/monitors/body.ts";
import type { MonitorSettings } from "../../../domain/monitors/monitor.ts";
import { OUTCOMES_MAX } from "../../../domain/outcomes/window.ts";
import { NO_SUCH_AGENT } from "../../api/agents/agents.ts";
import { NO_SUCH_MONITOR } from "../../api/monitors/monitors.ts";
import { agentPath, AGENTS_PATH } from "../layout/paths.ts";
import { seeOther, showFormOnProblem } from "../layout/page.tsx";
import { Crumbs, KeyValues, Section } from "../components/elements.tsx";
import { ConfirmForm, ConfirmLink } from "../components/table.tsx";
import {
  atFormField,
  formOf,
  FormProblem,
  readInteger,
  readTexts,
  type Texts,
  valuesIn,
} from "../components/form_fields.tsx";
import { countedText, durationText, formatCount } from "../components/format.ts";
import { flipEntries, monitorFacts, MonitorStatus, Strip } from "../components/monitor.tsx";
import { type AgentScope, DELETES_MONITOR, loadMonitor, ofAgent } from "./agent_load.ts";

/** Shows the monitor, or says what one would do; below the form that changes or creates it. */
export async function monitorTab(scope: AgentScope): Promise<Child> {
  const { agent, now, isAdmin, confirms } = scope;
  const data = await loadMonitor(scope);
  const { monitor, flips, proposal } = data;
  const texts = monitorTexts(monitor?.settings ?? proposal ?? {}, monitor?.version);
  const actions = monitor && isAdmin && monitorActions(agent, monitor.pause !== null);
  return (
    <>
      {confirms && isAdmin && confirmDeletion(agent)}
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
              A monitor notices when a run does not come. A schedule is proposed here once the runs
              of this agent have a rhythm.
            </p>
          )}
      </Section>
      <Section title={monitor === null ? "Create a monitor" : "Change the monitor"}>
        {isAdmin ? monitorForm(agent, texts, null) : ADMIN_ONLY}
      </Section>
    </>
  );
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
      {isAdmin && createButton(agent, { schedule, graceSeconds })}
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

/** Attributes of a field that counts runs. */
const COUNT = { type: "number", min: 1, max: OUTCOMES_MAX } as const;

/** Text fields: the name, the kind of schedule that has it, the label, the hint. */
const FIELDS = [
  ["every", "of-every", "Period", "Such as 15m, 2h or 1d; from 60s to 365d."],
  ["cron", "of-cron", "Cron line", "Minute, hour, day, month, weekday: 0 2 * * 1-5; or @daily."],
  ["tz", "of-cron", "Time zone", "Such as Europe/Berlin. Empty: UTC."],
  ["grace", "", "Grace", "How late a run may be before it is down. Empty: a fifth of the gap."],
  ["max_runtime", "", "Maximum duration", "A longer run counts as a failure. Empty: no limit."],
  ["failure_threshold", "", "Failures until it is down", "In a row.", COUNT],
  ["recovery_threshold", "", "Successes until it is up again", "In a row.", COUNT],
] as const;

const NAMES = FIELDS.map(([name]) => name);

/** Settings of the form; a new monitor has defaults. */
type Known = Partial<MonitorSettings>;

/** Returns settings as the texts of the form. */
function monitorTexts(known: Known, version: number | "" = ""): Texts {
  const { schedule = { everySeconds: 86_400 }, graceSeconds, maxRuntimeSeconds } = known;
  const { failureThreshold = 1, recoveryThreshold = 1, enabled = true } = known;
  const wordOf = (seconds: number | null = null) => seconds === null ? "" : durationWord(seconds);
  return {
    ...("cron" in schedule
      ? { kind: "cron", ...schedule }
      : { kind: "every", every: durationWord(schedule.everySeconds) }),
    grace: wordOf(graceSeconds),
    max_runtime: wordOf(maxRuntimeSeconds),
    failure_threshold: `${failureThreshold}`,
    recovery_threshold: `${recoveryThreshold}`,
    enabled: `${enabled}`,
    version: `${version}`,
  };
}

/** Parses the texts of the form as the API parses its body. */
function parseTexts(texts: Texts) {
  const { kind, every, cron, tz, enabled } = texts;
  const schedule = kind === "cron" ? { cron, tz: tz || "UTC" } : { every };
  const durations = valuesIn(texts, String, ["grace", "max_runtime"]);
  const integers = ["failure_threshold", "recovery_threshold", "version"];
  const more = { ...valuesIn(texts, readInteger, integers), enabled: enabled === "true" };
  return parseMonitorTexts({ ...schedule, ...durations }, more);
}

/** The form that creates a monitor, or changes the one whose version its texts have. */
function monitorForm(agent: string, texts: Texts, found: Problem | null) {
  const message = found?.message.replace('_seconds" must', '" must, in seconds,') ?? "";
  const problem = atFormField(found && { ...found, message });
  const { text } = formOf(texts, problem);
  const { kind, enabled, version } = texts;
  return (
    <form class="narrow monitor-form" method="post" action={monitorPath(agent)}>
      <FormProblem problem={problem} fields={NAMES} />
      <fieldset>
        <legend>A run is expected</legend>
        <label>
          <input type="radio" name="kind" value="every" checked={kind !== "cron"} />
          each time a period has passed since the last one
        </label>
        <label>
          <input type="radio" name="kind" value="cron" checked={kind === "cron"} />
          at the times of a cron line
        </label>
      </fieldset>
      {["of-every", "of-cron", ""].map((group) => (
        <div class={`fields ${group}`}>
          {FIELDS.filter(([, of]) => of === group).map(([name, , label, hint, more]) =>
            text(name, label, { hint, ...more })
          )}
        </div>
      ))}
      <label>
        <input type="checkbox" name="enabled" value="true" checked={enabled === "true"} />
        Enabled
      </label>
      <input type="hidden" name="version" value={version} />
      <button type="submit" class="btn main">{version ? "Save" : "Create monitor"}</button>
    </form>
  );
}

/** One button that creates a monitor with settings. */
function createButton(agent: string, settings: Known) {
  const texts = Object.entries(monitorTexts(settings));
  return (
    <form class="one" method="post" action={monitorPath(agent)}>
      {texts.map(([name, value]) => <input type="hidden" name={name} value={value} />)}
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
export const submitMonitor = ofAgent(async (c, { deps, team, agent, record, made }) => {
  const texts = readTexts(c.get("form"), ["kind", ...NAMES, "enabled", "version"]);
  const name = record.name ?? agent;
  showFormOnProblem(c, (problem) => ({
    title: texts["version"] ? "Change the monitor" : "Create a monitor",
    crumbs: <Crumbs links={[["Agents", AGENTS_PATH], [name, agentPath(agent)]]} />,
    body: monitorForm(agent, texts, problem),
  }));
  const { settings, version } = orRefuse(parseTexts(texts));
  const put = await deps.monitors.put(team, agent, settings, version, made);
  orRefuse(existing(put, NO_SUCH_AGENT));
  return seeOther(`${monitorTabPath(agent)}&done=saved`);
});

/** Pauses, resumes or deletes a monitor. */
export const submitMonitorAction = (action: MonitorAction) =>
  ofAgent(async (c, { deps: { monitors }, team, agent, made }) => {
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
