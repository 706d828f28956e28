/** The head of a run: its facts, why it failed, and what its checks said. */
import type { Child } from "hono/jsx";
import { LabelSign, Money, Sign } from "../components/elements.tsx";
import { compactText, countedText, durationText, formatCount } from "../components/format.ts";
import { timesUsual, UNUSUAL } from "../../../domain/runs/list.ts";
import { awaitsChecks, type RunData, type Span } from "./run_load.ts";
import { isMarked, type ViewProps } from "./run_view.ts";
import { comparePath, positionBefore, timelinePath, tracePath } from "./paths.ts";
import { checkPath, runPath } from "../layout/paths.ts";
import { RunIncidents } from "../alerts/entries.tsx";
import { isFailure, lineOf, offsetText, previewOf, reasonOf, silenceOf } from "./texts.ts";
import type { CheckResult, CheckStatus } from "../../../domain/runs/check_result.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { SeverityTag } from "../alerts/labels.tsx";
import { OUTCOMES } from "../checks/outcome.tsx";
import { JudgePill } from "../judges/results.tsx";

type Fact = readonly [name: string, value: Child, ...notes: Child[]];

/** Shows the facts; they include the child runs. */
export function Facts({ data, trace }: ViewProps) {
  const { run, family, totals, usual, nowMs } = data;
  const { usage, cost, startedAt, finishedAt } = run;
  const { slowest, costliest } = trace.marks;
  const isOpen = startedAt !== null && finishedAt === null;
  const durationMs = run.durationMs ?? (isOpen ? Math.max(0, nowMs - startedAt) : null);
  const hasChildren = family.children.length > 0;
  const own = (count: number, isLast: boolean) =>
    hasChildren && `${formatCount(count)} own${isLast ? "" : ", "}`;
  const models = new Set(cost.models.map(({ model }) => model)).size;
  const others = usage.events - usage.llmCalls - usage.toolCalls - usage.logs;
  const toStep = (mark: Span, text: string, value: Child) => (
    <a {...markLink({ data, trace }, mark)}>
      {text} <span class="num">{value}</span>
    </a>
  );
  const facts: readonly Fact[] = [
    [
      isOpen ? "Running for" : "Duration",
      durationMs === null ? "–" : durationText(durationMs),
      against(timesUsual({ ...run, durationMs }, usual, "slow"), isOpen),
      slowest && toStep(slowest, "slowest step", durationText(slowest.durationMs)),
    ],
    [
      "Cost",
      <Money of={totals.cost} />,
      against(timesUsual(run, usual, "expensive"), cost.state !== "final"),
      costNote(data),
    ],
    [
      "Tokens",
      compactText(totals.inputTokens + totals.outputTokens),
      `${compactText(totals.inputTokens)} in, ${compactText(totals.outputTokens)} out`,
      totals.cachedInputTokens > 0n && `, ${compactText(totals.cachedInputTokens)} cached`,
    ],
    [
      "Model calls",
      formatCount(totals.calls),
      own(cost.calls, false),
      costliest === null
        ? models > 0 && countedText(models, "model")
        : toStep(costliest, "most expensive", <Money of={costliest.cost} />),
    ],
    [
      "Tool calls",
      formatCount(totals.toolCalls),
      own(usage.toolCalls, totals.errors === 0),
      totals.errors > 0 && (
        <span class="err-count">{countedText(totals.errors, "step")} failed</span>
      ),
    ],
    hasChildren
      ? [
        "Child runs",
        `${family.children.length}${family.hasMore ? "+" : ""}`,
        <Money of={family.totals.cost} />,
      ]
      : ["Logs", formatCount(usage.logs), others > 0 && countedText(others, "other event")],
  ];
  return (
    <dl class="facts panel">
      {facts.map(([name, value, ...notes]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value} {notes.some(Boolean) && <small>{notes}</small>}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Multiples of the usual amount that still count as usual. */
const AS_USUAL = { min: 0.8, max: 1.25 } as const;

/** Compares a value with the usual one; the value of an open run only once it is above. */
function against(times: number, isOpen: boolean): Child {
  if (times === 0 || isOpen && times <= AS_USUAL.max) return null;
  const isUsual = times >= AS_USUAL.min && times <= AS_USUAL.max;
  const text = isUsual ? "as usual" : `${times.toFixed(times < 10 ? 1 : 0)}× usual`;
  return <span class={`against ${times >= UNUSUAL.factor ? "more" : ""}`}>{text}</span>;
}

/** Says what of the cost is missing, else what is the run's own, else what it is based on. */
function costNote({ run: { cost, status }, family, isStated }: RunData): Child {
  const unpriced = cost.models.reduce((sum, { priced, calls }) => priced ? sum : sum + calls, 0);
  if (unpriced > 0) {
    return <a class="more" href="#cost">{countedText(unpriced, "call")} without a price</a>;
  }
  if (family.children.length > 0) {
    const cut = family.isCut && ", without runs beyond the nearest 200";
    return [<Money of={cost.amount} />, " own", cut];
  }
  if (isStated) return "stated by the agent";
  if (cost.state === "final") return null;
  return <span>{status === "running" ? "so far" : "being aggregated"}</span>;
}

/** Returns the attributes of the link to a marked step: the script selects one on this page in place. */
function markLink({ data: { run, view }, trace }: ViewProps, mark: Span) {
  const step = trace.rows.find((row) => isMarked(row.step, mark))?.step;
  const event = mark.id;
  if (step === undefined) {
    const list = mark.run === run.id ? view.list : null;
    return { href: timelinePath(mark.run, { after: positionBefore(mark.position), event, list }) };
  }
  const inRun = mark.run === run.id ? null : mark.run;
  return { href: `${trace.pathWith({ event, inRun })}#${step.id}`, "data-select": "" };
}

/** Minimum milliseconds without an event that the box reports. */
const SILENCE_MS = 60_000;

/** Shown for a failure without any reason. */
const NO_REASON =
  'It does not say why: no event, no note, no error. Send "output": {"error": "…"} ' +
  "with its end, and it is shown here.";

/** Shows why a run failed; of another run only its incidents. */
export function Failure({ data, trace: { cause, axis } }: ViewProps) {
  const { run, view, recent, success, incidents, nowMs } = data;
  const isBad = ({ status }: typeof recent[number]) => isFailure(status);
  const named = <RunIncidents incidents={incidents} nowMs={nowMs} />;
  if (!isFailure(run.status) || cause === null) {
    return incidents.length > 0 && <p class="notice warn">{named}</p>;
  }
  const { path, isFailing, tries } = cause;
  const last = cause.event === null ? null : previewOf(cause.event);
  const word = run.status === "failed" ? "Failed" : "Timed out";
  const silence = silenceOf(run);
  const reason = reasonOf(run) ?? cause.reason ?? (isFailing && last?.failure || null) ?? silence;
  const inRun = path.at(-1)?.id ?? null;
  const after = inRun === null ? cause.after : null;
  const event = last?.event.id ?? null;
  const href = `${tracePath(run.id, { list: view.list, after, event, inRun })}#${
    inRun === null ? "" : `${inRun}.`
  }${event}`;
  const place = isFailing
    ? "In"
    : path.length > 0
    ? "In child run"
    : "No event reports a failure. The last one:";
  const silentMs = last === null || isFailing || path.length > 0
    ? 0
    : (run.finishedAt ?? 0) - last.event.ts - (last.latencyMs ?? 0);
  return (
    <section class={`fail ${run.status}`} aria-labelledby="why">
      <h2 id="why">{reason === null ? word : `${word}: ${reason}`}</h2>
      {silence !== null && silence !== reason && <p class="where">The run was {silence}.</p>}
      {(last !== null || path.length > 0) && (
        <p class="where">
          <span>{place}</span>
          {path.map(({ id, agent }) => <a href={runPath(id)}>{agent ?? id}</a>)}
          {last !== null && [
            <a href={href} data-select>
              {last.name ?? (last.text === null ? last.label : lineOf(last.text, 60))}
            </a>,
            <span>
              at {offsetText(last.event.ts, axis.startMs)}
              {tries > 1 && `, after ${tries} tries`}
              {last.failure !== null && last.failure !== reason && `: ${last.failure}`}
            </span>,
          ]}
          {silentMs >= SILENCE_MS && (
            <span>Then {durationText(silentMs)} without an event, until its end.</span>
          )}
        </p>
      )}
      {reason === null && last === null && path.length === 0 && (
        <p class="where">
          {run.payload === "whole" ? NO_REASON : "The reason was removed by age, as the plan says."}
        </p>
      )}
      {(recent.length > 1 || incidents.length > 0) && (
        <p class="since">
          {recent.length > 1 && (
            <>
              {recent.filter(isBad).length} of the last {recent.length} runs of{" "}
              <bdi>{run.agent}</bdi> failed.{" "}
              <span class="recent" aria-hidden="true">
                {recent.toReversed().map((each) => <i class={isBad(each) ? "is-bad" : ""} />)}
              </span>
            </>
          )} {named}
        </p>
      )}
      <div class="act">
        {last !== null && <a class="btn" href={href} data-select>Show in timeline</a>}
        {success !== null && (
          <a class="btn main" href={comparePath(run.id)}>Compare with last success</a>
        )}
      </div>
    </section>
  );
}

/** The order of the pills. */
const ORDER: readonly CheckStatus[] = ["fail", "error", "skipped", "pass"];

interface CheckResultsProps {
  readonly run: RunRecord;
  /** Identifiers of the checks that still exist: results outlive their checks. */
  readonly checkIds: ReadonlySet<string>;
  /** Words about what keeps a judge from calling its model, by slug. */
  readonly obstacles: ReadonlyMap<string, string>;
}

/** Shows the results of checks and judges in one line; nothing if none applies. */
export function CheckResults({ run, checkIds, obstacles }: CheckResultsProps) {
  const isPending = awaitsChecks(run);
  const results = ORDER.flatMap((status) => run.checks.filter((check) => check.status === status));
  const { judges } = run;
  if (results.length + judges.length === 0 && !isPending) return null;
  const title = judges.length === 0 ? "Checks" : results.length === 0 ? "Judges" : "Checks, judges";
  return (
    <section class="verdicts" aria-labelledby="checks-title">
      <h2 id="checks-title">{title}</h2>
      {isPending && <Sign icon="run">{results.length === 0 ? "running" : "running again"}</Sign>}
      {results.map((result) => <Pill {...result} isKept={checkIds.has(result.id)} />)}
      {judges.map((result) => <JudgePill {...result} obstacle={obstacles.get(result.judge)} />)}
    </section>
  );
}

type PillProps = CheckResult & { readonly isKept: boolean };

/** A result, which opens to its reason: the check may have changed since that version. */
function Pill({ check, id, status, severity, got, message, version, isKept }: PillProps) {
  const isFailed = status === "fail";
  const isRemoved = message === null && (isFailed || status === "error");
  return (
    <details id={`check-${id}`} name="check" class={isFailed && severity === "fail" ? "bad" : ""}>
      <summary>
        <LabelSign of={OUTCOMES[status]} isIcon /> {check}
      </summary>
      <div>
        {message !== null && <p>{message}</p>}
        {isRemoved && <p class="quiet">The message was removed by age</p>}
        {got && <code>got {got}</code>}
        <p class="quiet">
          <LabelSign of={OUTCOMES[status]} /> {isFailed && <SeverityTag of={severity} />} version
          {" "}
          {version}, {isKept ? <a href={checkPath(check)}>Open the check</a> : "deleted since"}
        </p>
      </div>
    </details>
  );
}
