/** `/dashboard/runs/:id/compare`: two runs side by side, with their first difference. */
import type { Child } from "hono/jsx";
import type { Handler } from "../../http/admission.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { explainCalls } from "../../../domain/runs/explain_cost.ts";
import { alignSteps } from "../../../domain/runs/compare.ts";
import { totalsOf } from "../../../domain/runs/list.ts";
import { addCounts } from "../../../domain/core/sums.ts";
import { assemble, type RunRecord } from "../../../domain/runs/record.ts";
import { parseRunId } from "../../../domain/ingest/parse.ts";
import type { AppDeps } from "../../http/context.ts";
import { fail } from "../../http/answer.ts";
import { NO_SUCH_RUN } from "../../api/runs/runs.ts";
import { Crumbs } from "../components/crumbs.tsx";
import { Money, Status } from "../components/elements.tsx";
import { Ago } from "../components/time.tsx";
import { compactText, countedText, durationText, formatCount } from "../components/format.ts";
import { runPath, RUNS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Icon } from "../components/icons.tsx";
import { renderRunNotFound } from "./not_found.tsx";
import { shortId, titleOf } from "./title.ts";
import { CHILDREN_LISTED, comparePath } from "./paths.ts";
import { eventSteps, isFailure, runStep, type Step } from "./steps.ts";
import { type Side, type Sides, Steps } from "./compare_steps.tsx";
import type { RunId } from "../../../domain/core/ids.ts";

/** Maximum steps of a run that are compared, the first ones. */
const STEPS_MAX = 300;

/** Shows the comparison with the run of the query, by default with the last success before it. */
export const showComparison: Handler = async (c, deps) => {
  c.set("renderProblem", renderRunNotFound);
  const { team } = c.get("principal");
  const id = parseRunId(c.req.param("id") ?? "");
  if (!id.ok) return fail(c, NO_SUCH_RUN);
  const a = await loadSide(deps, team, id.value);
  if (a === null) return fail(c, NO_SUCH_RUN);
  const { with: wanted, only } = c.req.query();
  const other = wanted === undefined ? null : parseRunId(wanted.trim());
  const otherId = other === null
    ? await lastSuccess(deps, team, a.run)
    : other.ok
    ? other.value
    : null;
  const b = otherId === null ? null : await loadSide(deps, team, otherId);
  const nowMs = deps.environment.now();
  return showPage(c, {
    title: "Compare",
    crumbs: (
      <Crumbs
        links={[["Runs", RUNS_PATH], [titleOf(a), runPath(a.run.id)]]}
      />
    ),
    body: (
      <>
        {b === null
          ? <NoOther a={a} wanted={wanted ?? null} />
          : <Comparison a={a} b={b} nowMs={nowMs} isBrief={only === "diff"} />}
        <Choose id={a.run.id} wanted={wanted ?? ""} />
      </>
    ),
  });
};

async function loadSide(deps: AppDeps, team: Team, id: RunId): Promise<Side | null> {
  const { runs, lineage, environment } = deps;
  const [page, family] = await Promise.all([
    runs.read(team, id, null, STEPS_MAX),
    lineage.of(team, id),
  ]);
  if (page === null) return null;
  const run = assemble(id, page);
  const calls = explainCalls(page, true);
  const events = eventSteps({
    run: id,
    events: page.events,
    calls: new Map(calls.map((call) => [call.eventId as string | null, call])),
    isRoot: true,
  });
  const listed = family.children.slice(0, CHILDREN_LISTED);
  const rows = listed.length === 0 ? [] : await lineage.rows(team, listed);
  const children = rows.map((row) =>
    runStep(row, {
      parent: id,
      atMs: row.startedAt ?? row.receivedAt,
      text: null,
      failure: isFailure(row.status) ? row.status : null,
      folded: null,
    }, environment.now())
  );
  const steps = [...events, ...children].sort((x, y) => x.atMs - y.atMs);
  return {
    run,
    steps,
    children: family.children.length,
    totals: addCounts(family.totals, totalsOf(run)),
    hasMore: page.next !== null,
  };
}

/** Returns the latest success of the same agent and feature that started before a run. */
async function lastSuccess(
  { runList }: AppDeps,
  team: Team,
  { id, agent, feature, startedAt }: RunRecord,
): Promise<RunId | null> {
  if (agent === null) return null;
  const query = { agent, status: "success", from: null, to: startedAt ?? null } as const;
  const find = async (more: { readonly feature?: string }) =>
    (await runList.page(team, { ...query, ...more }, null, 2)).rows.find((row) => row.id !== id)
      ?.id ?? null;
  return (feature === null ? null : await find({ feature })) ?? await find({});
}

function NoOther({ a, wanted }: { readonly a: Side; readonly wanted: string | null }) {
  return (
    <section class="empty">
      <p>
        {wanted === null
          ? `No run of ${a.run.agent ?? "this agent"} succeeded before this one.`
          : "This team has no run with that id."}
      </p>
      <p>
        <a href={runPath(a.run.id)}>Back to the run</a>
      </p>
    </section>
  );
}

function Choose({ id, wanted }: { readonly id: string; readonly wanted: string }) {
  return (
    <form class="choose" method="get" action={comparePath(id)}>
      <label for="with">Compare with another run</label>
      <div class="field">
        <Icon name="search" />
        <input
          id="with"
          name="with"
          value={wanted}
          placeholder="Run id"
          required
          autocomplete="off"
        />
      </div>
      <button type="submit" class="btn">Compare</button>
    </form>
  );
}

function Comparison({ a, b, nowMs, isBrief }: Sides & {
  readonly nowMs: number;
  /** True to list only the steps that differ. */
  readonly isBrief: boolean;
}) {
  const pairs = alignSteps(a.steps.map(compared), b.steps.map(compared));
  const first = pairs.findIndex(({ isEqual }) => !isEqual);
  const isCut = a.hasMore || b.hasMore;
  return (
    <>
      <p class="quiet compare-lead">
        {a.run.agent === b.run.agent ? "Same agent" : "Another agent"}
        {a.run.feature !== null && a.run.feature === b.run.feature && " and feature"}. {first < 0
          ? `All ${countedText(pairs.length, "step")} have the same names and outcomes.`
          : first === 0
          ? `The first of ${countedText(pairs.length, "step")} differs.`
          : `The first ${first} of ${countedText(pairs.length, "step")} are equal.`}
        {isCut && ` The first ${STEPS_MAX} steps of each run are compared.`}{" "}
        <a href={comparePath(b.run.id, a.run.id, isBrief)}>Swap</a>
      </p>
      <div class="versus">
        <SideHead {...a} name="A" nowMs={nowMs} />
        <SideHead {...b} name="B" nowMs={nowMs} />
      </div>
      <div class="compare-cols">
        <Steps a={a} b={b} pairs={pairs} first={first} isBrief={isBrief} />
        <Sums a={a} b={b} />
      </div>
    </>
  );
}

function compared({ kind, name, failure }: Step) {
  return { name: kind === "log" ? "log" : `${kind} ${name}`, failed: failure !== null };
}

function SideHead({ run, name, nowMs }: Side & { readonly name: string; readonly nowMs: number }) {
  const labels = [run.customerId, run.feature].filter((label) => label !== null);
  return (
    <section class="panel side-head" aria-label={`Run ${name}`}>
      <h2>
        <span class="side">{name}</span>
        <Status of={run.status} />
        <a href={runPath(run.id)}>{titleOf({ run })}</a>
      </h2>
      <p class="quiet">
        {[run.agent ?? "no agent", ...labels].join(", ")},{" "}
        {run.startedAt !== null && <Ago at={run.startedAt} now={nowMs} />}{" "}
        <code>{shortId(run.id)}</code>
      </p>
    </section>
  );
}

function Sums({ a, b }: Sides) {
  const [x, y] = [a.run, b.run];
  const row = (name: string, left: Child, right: Child, delta: Child, kind = "") => (
    <tr>
      <th scope="row">{name}</th>
      <td class="num">{left}</td>
      <td class="num">{right}</td>
      <td class={`num ${kind}`}>{delta}</td>
    </tr>
  );
  const count = (name: string, left: number, right: number, kind = "") =>
    row(
      name,
      formatCount(left),
      formatCount(right),
      signed(left - right, formatCount),
      left > right ? kind : "",
    );
  const tokens = (name: string, left: bigint, right: bigint) =>
    row(name, compactText(left), compactText(right), signed(Number(left - right), compactText));
  const [left, right] = [a.totals, b.totals];
  const cost = left.cost - right.cost;
  return (
    <section class="panel" aria-labelledby="sums-h">
      <header>
        <h2 id="sums-h">Sums</h2>
        {a.children + b.children > 0 && <span class="end quiet">with child runs</span>}
      </header>
      <table class="delta">
        <thead>
          <tr>
            <th scope="col">
              <span class="sr">Fact</span>
            </th>
            <th scope="col" class="num">A</th>
            <th scope="col" class="num">B</th>
            <th scope="col" class="num">A against B</th>
          </tr>
        </thead>
        <tbody>
          {row("Status", <Status of={x.status} />, <Status of={y.status} />, "")}
          {row(
            "Duration",
            x.durationMs === null ? "–" : durationText(x.durationMs),
            y.durationMs === null ? "–" : durationText(y.durationMs),
            x.durationMs === null || y.durationMs === null
              ? ""
              : signed(x.durationMs - y.durationMs, durationText),
            (x.durationMs ?? 0) > (y.durationMs ?? 0) ? "more" : "",
          )}
          {row(
            "Cost",
            <Money of={left.cost} />,
            <Money of={right.cost} />,
            cost === 0n ? "0" : (
              <>
                {cost > 0n ? "+" : "−"}
                <Money of={cost < 0n ? -cost : cost} />
              </>
            ),
            cost > 0n ? "more" : "",
          )}
          {tokens("Input tokens", left.inputTokens, right.inputTokens)}
          {tokens("Output tokens", left.outputTokens, right.outputTokens)}
          {count("Model calls", left.calls, right.calls)}
          {count("Tool calls", left.toolCalls, right.toolCalls)}
          {count("Failed steps", left.errors, right.errors, "err-count")}
          {count("Child runs", a.children, b.children)}
        </tbody>
      </table>
    </section>
  );
}

function signed(difference: number, format: (size: number) => string): string {
  if (difference === 0) return "0";
  return `${difference > 0 ? "+" : "−"}${format(Math.abs(difference))}`;
}
