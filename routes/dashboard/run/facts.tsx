/** The facts of a run: six at most, each with its split. */
import type { Child } from "hono/jsx";
import { Money } from "../components/elements.tsx";
import { compactText, countedText, durationText, formatCount } from "../components/format.ts";
import { timesUsual, UNUSUAL } from "../../../domain/runs/list.ts";
import type { RunData, Span } from "./run_load.ts";
import { isMarked, type ViewProps } from "./run_view.ts";
import { positionBefore, timelinePath } from "./paths.ts";

type Fact = readonly [name: string, value: Child, ...notes: Child[]];

/** Shows the facts; those of a run with child runs include them. */
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
          <dd>
            {value} {notes.some(Boolean) && <small>{notes}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Multiples of the usual amount that still count as usual. */
const AS_USUAL = { min: 0.8, max: 1.25 } as const;

/** Compares a value with the usual one; that of an open run only where it exceeds it already. */
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
export function markLink({ data: { run, view }, trace }: ViewProps, mark: Span) {
  const step = trace.rows.find((row) => isMarked(row.step, mark))?.step;
  const event = mark.id;
  if (step === undefined) {
    const list = mark.run === run.id ? view.list : null;
    return { href: timelinePath(mark.run, { after: positionBefore(mark.position), event, list }) };
  }
  const inRun = mark.run === run.id ? null : mark.run;
  return { href: `${trace.pathWith({ event, inRun })}#${step.id}`, "data-select": "" };
}
