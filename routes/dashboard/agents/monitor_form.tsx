/** The form of a monitor's settings, and the buttons that pause, resume and delete it. */
import type { Problem } from "../../../domain/core/errors.ts";
import type { Body } from "../../../domain/core/body.ts";
import {
  durationWord,
  EVERY_SECONDS,
  GRACE_SECONDS,
  parseDuration,
} from "../../../domain/monitors/schedule.ts";
import { MAX_RUNTIME_SECONDS } from "../../../domain/monitors/body.ts";
import {
  type MonitorPause,
  type MonitorSettings,
  SIGNALS_MAX,
} from "../../../domain/monitors/monitor.ts";
import { agentPath } from "../layout/paths.ts";
import {
  bodyOf,
  Field,
  formFields,
  FormProblem,
  readInteger,
  readTexts,
  type Texts,
} from "../components/form_fields.tsx";
import { ConfirmForm } from "../components/confirm_form.tsx";
import { HOUR_MS } from "../../../domain/core/time.ts";

/** Path of a monitor's forms. */
export function monitorPath(agent: string, action: "" | "/pause" | "/resume" | "/delete" = "") {
  return `${agentPath(agent)}/monitor${action}`;
}

/** Fields of the form. */
const NAMES = [
  "kind",
  "every",
  "cron",
  "tz",
  "grace",
  "max_runtime",
  "failure_threshold",
  "recovery_threshold",
  "enabled",
  "version",
] as const;

/** Fields of durations: the field of the body that each one becomes, and its range. */
const DURATIONS = [
  ["every", "every_seconds", EVERY_SECONDS],
  ["grace", "grace_seconds", GRACE_SECONDS],
  ["max_runtime", "max_runtime_seconds", MAX_RUNTIME_SECONDS],
] as const;

/** Settings of a new monitor without a proposal. */
export const DEFAULT_TEXTS: Texts = {
  kind: "every",
  every: "1d",
  failure_threshold: "1",
  recovery_threshold: "1",
  enabled: "true",
};

/** Returns settings as the texts of the form. */
export function textsOfSettings(settings: MonitorSettings, version: number | null): Texts {
  const { schedule, graceSeconds, maxRuntimeSeconds } = settings;
  return {
    ...("cron" in schedule
      ? { kind: "cron", cron: schedule.cron, tz: schedule.tz }
      : { kind: "every", every: durationWord(schedule.everySeconds) }),
    grace: durationWord(graceSeconds),
    max_runtime: maxRuntimeSeconds === null ? "" : durationWord(maxRuntimeSeconds),
    failure_threshold: String(settings.failureThreshold),
    recovery_threshold: String(settings.recoveryThreshold),
    enabled: String(settings.enabled),
    version: version === null ? "" : String(version),
  };
}

/** Reads the submitted form. */
export function readMonitorTexts(form: URLSearchParams): Texts {
  return readTexts(form, NAMES);
}

/** Returns the body of the API call that the form stands for, or why a duration is none. */
export function bodyOfTexts(texts: Texts): Body | Problem {
  const seconds: Record<string, number> = {};
  for (const [name, field, { min, max }] of DURATIONS) {
    const text = texts[name] ?? "";
    if (text === "" || (name === "every" && texts["kind"] === "cron")) continue;
    const value = parseDuration(text);
    if (value === null || value < min || value > max) {
      const range = `${durationWord(min)} to ${durationWord(max)}`;
      const message = `Must be a duration from ${range}, such as 90s, 15m, 2h or 1d`;
      return { code: "invalid_field", message, field: name };
    }
    seconds[field] = value;
  }
  const { every_seconds, ...others } = seconds;
  const { kind, cron, tz } = texts;
  const integers = ["failure_threshold", "recovery_threshold", "version"].map((name) =>
    [name, readInteger(texts[name] ?? "")] as const
  );
  return bodyOf({
    schedule: kind === "cron" ? { cron, tz: tz || "UTC" } : { every_seconds },
    ...others,
    ...Object.fromEntries(integers.filter(([, value]) => value !== undefined)),
    enabled: texts["enabled"] === "true",
  });
}

interface MonitorFormProps {
  readonly agent: string;
  readonly texts: Texts;
  readonly problem: Problem | null;
  /** True if the agent has a monitor. */
  readonly exists: boolean;
}

/** Fields whose errors the form shows at the field. */
const WITH_PROBLEMS = [
  ...DURATIONS.map(([name]) => name),
  "cron",
  "tz",
  "failure_threshold",
  "recovery_threshold",
];

/** Moves a problem of the schedule to its field: the API's field is the schedule as a whole. */
function problemOf(problem: Problem | null): Problem | null {
  const [, field, message] = /^Field "schedule\.(cron|tz)" (.*)/s.exec(problem?.message ?? "") ??
    [];
  if (problem === null || field === undefined || message === undefined) return problem;
  return { ...problem, field, message: message.charAt(0).toUpperCase() + message.slice(1) };
}

/** The form that creates or changes a monitor. */
export function MonitorForm({ agent, texts, problem: found, exists }: MonitorFormProps) {
  const problem = problemOf(found);
  const field = formFields(texts, problem);
  const { kind = "every", version = "" } = texts;
  return (
    <form class="narrow monitor-form" method="post" action={monitorPath(agent)}>
      <FormProblem problem={problem} fields={WITH_PROBLEMS} />
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
      <div class="fields of-every">
        <Field
          {...field("every")}
          label="Period"
          hint="Such as 15m, 2h or 1d; from 60s to 365d."
        />
      </div>
      <div class="fields of-cron">
        <Field
          {...field("cron")}
          label="Cron line"
          placeholder="0 2 * * 1-5"
          hint="Minute, hour, day, month, weekday; or @daily."
        />
        <Field
          {...field("tz")}
          label="Time zone"
          placeholder="UTC"
          hint="Such as Europe/Berlin."
        />
      </div>
      <div class="fields">
        <Field
          {...field("grace")}
          label="Grace"
          hint="How late a run may be until the agent is down. Empty: a fifth of the gap."
        />
        <Field
          {...field("max_runtime")}
          label="Maximum duration of a run"
          hint="A longer run counts as a failure. Empty: no limit."
        />
        <Field
          {...field("failure_threshold")}
          label="Failures until it is down"
          type="number"
          min={1}
          max={SIGNALS_MAX}
          hint="In a row."
        />
        <Field
          {...field("recovery_threshold")}
          label="Successes until it is up again"
          type="number"
          min={1}
          max={SIGNALS_MAX}
          hint="In a row."
        />
      </div>
      <label>
        <input type="checkbox" name="enabled" value="true" checked={texts.enabled === "true"} />
        Enabled
      </label>
      {version !== "" && <input type="hidden" name="version" value={version} />}
      <button type="submit" class="btn main">{exists ? "Save" : "Create monitor"}</button>
    </form>
  );
}

/** One button that creates a monitor with settings. */
export function CreateButton({ agent, settings }: {
  readonly agent: string;
  readonly settings: MonitorSettings;
}) {
  const texts = Object.entries(textsOfSettings(settings, null));
  return (
    <form class="one" method="post" action={monitorPath(agent)}>
      {texts.map(([name, value]) => <input type="hidden" name={name} value={value} />)}
      <button type="submit" class="btn main">Create monitor</button>
    </form>
  );
}

/** Durations of a pause: the text of each, and its milliseconds; null for no end. */
const PAUSES = {
  success: ["until the next success", null],
  hour: ["for 1 hour", HOUR_MS],
  day: ["for 1 day", 24 * HOUR_MS],
  week: ["for 7 days", 168 * HOUR_MS],
  resume: ["until it is resumed", null],
} as const;

/** Reads the form of a pause; an unknown length is the first one. */
export function readPause(form: URLSearchParams, nowMs: number): MonitorPause {
  const length = form.get("length") ?? "success";
  const ms = Object.entries(PAUSES).find(([name]) => name === length)?.[1][1] ?? null;
  return { untilMs: ms === null ? null : nowMs + ms, isSticky: ms !== null || length === "resume" };
}

/** The buttons of a monitor. */
export function MonitorActions({ agent, isPaused }: {
  readonly agent: string;
  readonly isPaused: boolean;
}) {
  return (
    <div class="actions">
      {isPaused
        ? (
          <form class="one" method="post" action={monitorPath(agent, "/resume")}>
            <button type="submit" class="btn">Resume</button>
          </form>
        )
        : (
          <form class="one" method="post" action={monitorPath(agent, "/pause")}>
            <select name="length" aria-label="Length of the pause">
              {Object.entries(PAUSES).map(([name, [text]]) => <option value={name}>{text}</option>)}
            </select>
            <button type="submit" class="btn">Pause</button>
          </form>
        )}
      <a class="btn" href={`${agentPath(agent)}?confirm=delete-monitor`}>Delete…</a>
    </div>
  );
}

/** Asks before a monitor is deleted. */
export function ConfirmMonitorDeletion({ agent }: { readonly agent: string }) {
  return (
    <ConfirmForm
      action={monitorPath(agent, "/delete")}
      title="Delete this monitor?"
      submit="Delete monitor"
      cancelTo={agentPath(agent)}
    >
      <p>
        Its settings and its history are deleted. Runs of the agent stay. A ping with{" "}
        <code>every</code> or <code>cron</code> creates a new monitor.
      </p>
    </ConfirmForm>
  );
}
