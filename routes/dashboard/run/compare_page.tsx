/** `/dashboard/runs/:id/compare`: two runs side by side, with their first difference. */
import type { Child } from "hono/jsx";
import { unlessRefused } from "../../../domain/core/errors.ts";
import { parseRunId } from "../../../domain/ingest/parse.ts";
import { fail } from "../../http/answer.ts";
import { NO_SUCH_RUN } from "../../api/runs/runs.ts";
import { At, Crumbs, Empty, Money, Section, Status } from "../components/elements.tsx";
import { compactText, countedText, durationText, formatCount } from "../components/format.ts";
import { formOf } from "../components/form_fields.tsx";
import { runPath, RUNS_PATH } from "../layout/paths.ts";
import type { PageHandler } from "../layout/page.tsx";
import { type Column, numberColumn, Table } from "../components/table.tsx";
import { loadSides, type Side } from "./compare_load.ts";
import { compareRuns, type Comparison, stepName, stepPath } from "./compare_view.ts";
import { renderRunNotFound } from "./not_found.tsx";
import { shortId, titleOf } from "./texts.ts";
import { comparePath } from "./paths.ts";
import { Fold } from "./values.tsx";
import { ErrorTag, StepIcon } from "./waterfall_row.tsx";

/** Levels of indentation; steps of deeper child runs keep the last. */
const DEPTH_MAX = 3;

interface Sides {
  readonly a: Side;
  readonly b: Side;
}

/** Shows the comparison with the run of the query, by default with the last success before it. */
export const showComparison: PageHandler = async (visit) => {
  const { c } = visit;
  c.set("renderProblem", renderRunNotFound);
  const { with: wanted = null, only } = c.req.query();
  const id = unlessRefused(() => parseRunId(c.req.param("id") ?? ""), () => null);
  const sides = id && await loadSides(visit, id, wanted);
  if (sides === null) return fail(c, NO_SUCH_RUN);
  const { a, b } = sides;
  const missing = wanted === null
    ? `No run of ${a.run.agent ?? "this agent"} succeeded before this one`
    : "This team has no run with that id";
  const form = formOf({ with: wanted ?? "" }, null);
  return {
    title: "Compare",
    crumbs: <Crumbs links={[["Runs", RUNS_PATH], [titleOf(a), runPath(a.run.id)]]} />,
    body: [
      b === null ? <Empty title={missing} /> : <Comparing a={a} b={b} isBrief={only === "diff"} />,
      <form class="choose" method="get" action={comparePath(a.run.id)}>
        {form.text("with", "Compare with another run", { placeholder: "Run id", required: true })}
        <button type="submit" class="btn">Compare</button>
      </form>,
    ],
  };
};

/** Shows two runs; with `isBrief` only the steps that differ. */
function Comparing({ a, b, isBrief }: Sides & { readonly isBrief: boolean }) {
  const comparison = compareRuns(a, b);
  const { rows, different, first } = comparison;
  const other = isBrief
    ? `Show all ${rows.length} steps`
    : `Only ${countedText(different.length, "difference")}`;
  const toggle = <a href={`${comparePath(a.run.id, b.run.id, !isBrief)}#steps`}>{other}</a>;
  const scope = a.children + b.children > 0 && <span class="quiet">with child runs</span>;
  return (
    <>
      <p class="quiet compare-lead">
        {comparison.subtitle} <a href={comparePath(b.run.id, a.run.id, isBrief)}>Swap</a>
      </p>
      <div class="versus">
        <SideHead run={a.run} name="A" />
        <SideHead run={b.run} name="B" />
      </div>
      <div class="compare-cols">
        <Section id="steps" title="Steps in order" aside={first !== null && toggle}>
          <Steps a={a} b={b} comparison={comparison} isBrief={isBrief && first !== null} />
        </Section>
        <Section title="Sums" aside={scope}>
          <Sums a={a} b={b} />
        </Section>
      </div>
    </>
  );
}

function SideHead({ run, name }: Pick<Side, "run"> & { readonly name: string }) {
  const labels = [run.agent ?? "no agent", run.customerId, run.feature];
  return (
    <section class="panel side-head" aria-label={`Run ${name}`}>
      <h2>
        <span class="side">{name}</span>
        <Status of={run.status} />
        <a href={runPath(run.id)}>{titleOf({ run })}</a>
      </h2>
      <p class="quiet">
        {labels.filter((label) => label !== null).join(", ")},{" "}
        {run.startedAt !== null && <At at={run.startedAt} />} <code>{shortId(run.id)}</code>
      </p>
    </section>
  );
}

function Steps({ a, b, comparison: { equal, rest, different, first }, isBrief }: Sides & {
  readonly comparison: Comparison;
  readonly isBrief: boolean;
}) {
  const columns = [
    numberColumn("Step", ({ n }: Row) => n),
    sideColumn("a", a),
    sideColumn("b", b),
    { head: "Difference", cell: ({ difference }: Row) => difference },
  ];
  const table = (label: string, rows: readonly Row[]) => (
    <Table label={label} class={isBrief ? "cmp brief" : "cmp"} columns={columns} rows={rows} />
  );
  return (
    <>
      {equal.length > 0 && !isBrief && (
        <Fold
          class="equal"
          open={first === null && equal.length <= 20}
          summary={countedText(equal.length, "equal step")}
        >
          {table("Equal steps", equal)}
        </Fold>
      )}
      {first !== null && [
        <p class="rule">First difference, step {first.n}{first.place}: {first.difference}</p>,
        table("Steps", isBrief ? different : rest),
      ]}
      {first?.data && (
        <div class="first-data">
          {first.data.map(({ name, lines, only, isCut }) => (
            <div>
              <h3>{name}, step {first.n}</h3>
              <pre class="code" tabindex={0}>
                {lines.map((line, i) => only.has(i) ? <mark>{`${line}\n`}</mark> : `${line}\n`)}
                {isCut && "…"}
              </pre>
            </div>
          ))}
        </div>
      )}
    </>
  );
}

type Row = Comparison["rows"][number];

/** A column of the steps of one of the runs. */
function sideColumn(side: "a" | "b", { run }: Side): Column<Row> {
  return {
    head: `${side.toUpperCase()}, ${run.status}`,
    attributes: (row) => ({
      "data-side": side.toUpperCase(),
      "data-depth": `${Math.min(row[side]?.depth ?? 0, DEPTH_MAX)}`,
      "data-differs": `${!row.isEqual}`,
    }),
    cell: (row) => {
      const step = row[side];
      if (step === null) return <span class="quiet">no such step</span>;
      return (
        <div class="cell">
          <StepIcon step={step} />
          <a href={stepPath(run.id, step)}>{stepName(step)}</a>
          {step.failure !== null && <ErrorTag of={step.failure} />}
          <span class="num">{step.durationMs === null ? "" : durationText(step.durationMs)}</span>
        </div>
      );
    },
  };
}

/** A measure of both runs: its value, its format, and the class of more in A than in B. */
type Measure = readonly [
  name: string,
  of: (side: Side) => bigint | number | null,
  format: (value: bigint) => Child,
  more?: string,
];

const MEASURES: readonly Measure[] = [
  ["Duration", ({ run }) => run.durationMs, (ms) => durationText(Number(ms)), "more"],
  ["Cost", ({ totals }) => totals.cost, (cost) => <Money of={cost} />, "more"],
  ["Input tokens", ({ totals }) => totals.inputTokens, compactText],
  ["Output tokens", ({ totals }) => totals.outputTokens, compactText],
  ["Model calls", ({ totals }) => totals.calls, formatCount],
  ["Tool calls", ({ totals }) => totals.toolCalls, formatCount],
  ["Failed steps", ({ totals }) => totals.errors, formatCount, "err-count"],
  ["Child runs", ({ children }) => children, formatCount],
];

function Sums({ a, b }: Sides) {
  const amountOf = (side: Side) => ([, valueOf, format]: Measure) => {
    const value = valueOf(side);
    return value === null ? "–" : format(BigInt(value));
  };
  const columns: readonly Column<Measure>[] = [
    { head: <span class="sr">Measure</span>, isName: true, cell: ([name]) => name },
    numberColumn(`A, ${a.run.status}`, amountOf(a)),
    numberColumn(`B, ${b.run.status}`, amountOf(b)),
    numberColumn("A against B", ([, valueOf, format, more]) => {
      const [x, y] = [valueOf(a), valueOf(b)];
      const change = BigInt(x ?? 0) - BigInt(y ?? 0);
      if (x === null || y === null) return "–";
      if (change === 0n) return "0";
      return change < 0n ? <>−{format(-change)}</> : <span class={more}>+{format(change)}</span>;
    }),
  ];
  return <Table label="Sums" class="delta" columns={columns} rows={MEASURES} />;
}
