/** `/dashboard/runs/:id/compare`: two runs side by side, with their first difference. */
import type { Child } from "hono/jsx";
import type { Handler } from "../../http/admission.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { explainCalls } from "../../../domain/runs/explain_cost.ts";
import { alignSteps, type ComparedPair } from "../../../domain/runs/compare.ts";
import { totalsOf } from "../../../domain/runs/list.ts";
import { addCounts } from "../../../domain/core/sums.ts";
import { assemble, type RunRecord } from "../../../domain/runs/record.ts";
import type { RunPage } from "../../../domain/runs/event_page.ts";
import { parseRunId } from "../../../domain/ingest/parse.ts";
import type { AppDeps } from "../../http/context.ts";
import { fail } from "../../http/answer.ts";
import { NO_SUCH_RUN } from "../../api/runs/runs.ts";
import { Crumbs, Money, Status } from "../components/elements.tsx";
import { Ago } from "../components/time.tsx";
import { compactText, countedText, durationText, formatCount } from "../components/format.ts";
import { runPath, RUNS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Icon } from "../components/icons.tsx";
import { renderRunNotFound } from "./not_found.tsx";
import { shortId, titleOf } from "./title.ts";
import { CHILDREN_LISTED, comparePath } from "./paths.ts";
import { eventSteps, isFailure, runStep } from "./steps.ts";
import { type ComparedRow, type Side, type Sides, Steps } from "./compare_steps.tsx";
import type { RunId } from "../../../domain/core/ids.ts";

/** Maximum steps of a side that are compared, the first ones, and child runs that are read. */
const STEPS_MAX = 300, RUNS_MAX = 40;

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
  const { runs, lineage } = deps;
  const [stored, family] = await Promise.all([runs.find(team, id), lineage.of(team, id)]);
  if (stored === null) return null;
  const page = { ...stored, ...await stored.page(null, STEPS_MAX) };
  const run = assemble(id, page);
  const walk: Walk = { deps, team, visited: new Set([id]), left: STEPS_MAX, isCut: false };
  const steps = await stepsOf(walk, id, page);
  return {
    run,
    steps,
    children: family.children.length,
    totals: addCounts(family.totals, totalsOf(run)),
    hasMore: walk.isCut,
  };
}

/** Remaining reads of a side: of its run and of the runs that it started. */
interface Walk {
  readonly deps: AppDeps;
  readonly team: Team;
  readonly visited: Set<RunId>;
  left: number;
  isCut: boolean;
}

/** Reads the steps of a run in order of time, those of each child run after it. */
async function stepsOf(
  walk: Walk,
  id: RunId,
  page: RunPage,
  depth = 0,
  within = "",
): Promise<readonly ComparedRow[]> {
  const { runs, lineage, environment } = walk.deps;
  walk.left -= page.events.length;
  walk.isCut ||= page.next !== null;
  const calls = explainCalls(page, true);
  const events = eventSteps({
    run: id,
    events: page.events,
    calls: new Map(calls.map((call) => [call.eventId as string | null, call])),
    isRoot: depth === 0,
  });
  const listed = await lineage.children(walk.team, id, CHILDREN_LISTED);
  const rows = listed.length === 0 ? [] : await lineage.rows(walk.team, listed);
  const children = rows.map((row) =>
    runStep(row, {
      parent: id,
      atMs: row.startedAt ?? row.receivedAt,
      text: null,
      failure: isFailure(row.status) ? row.status : null,
      folded: null,
    }, environment.now())
  );
  const steps: ComparedRow[] = [];
  const agents = new Map<string, number>();
  for (const step of [...events, ...children].sort((x, y) => x.atMs - y.atMs)) {
    steps.push({ ...step, depth, within });
    if (step.kind !== "run" || walk.visited.has(step.run)) continue;
    if (walk.left <= 0 || walk.visited.size > RUNS_MAX) {
      walk.isCut = true;
      continue;
    }
    walk.visited.add(step.run);
    walk.left--;
    // Of several child runs of an agent, the first is compared with the first.
    const nth = (agents.get(step.name) ?? 0) + 1;
    agents.set(step.name, nth);
    const child = await runs.find(walk.team, step.run);
    if (child === null) continue;
    const events = { ...child, ...await child.page(null, walk.left) };
    steps.push(
      ...await stepsOf(walk, step.run, events, depth + 1, `${within}${step.name} ${nth}/`),
    );
  }
  return steps;
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
  const pairs = pairsOf(a, b);
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

/** Aligns the steps of two sides. Child runs differ where their steps do, if any of them differs. */
function pairsOf(a: Side, b: Side): readonly ComparedPair[] {
  const pairs = alignSteps(a.steps.map(compared), b.steps.map(compared));
  return pairs.map((pair, i) => {
    const [left, right] = [a.steps[pair.a ?? -1], b.steps[pair.b ?? -1]];
    if (left === undefined || right === undefined || left.kind !== "run") return pair;
    if ((left.failure === null) === (right.failure === null)) return pair;
    const depthOf = (other: ComparedPair) =>
      (a.steps[other.a ?? -1] ?? b.steps[other.b ?? -1])?.depth ?? 0;
    const end = pairs.findIndex((other, at) => at > i && depthOf(other) <= left.depth);
    const inside = pairs.slice(i + 1, end < 0 ? undefined : end);
    return { ...pair, isEqual: inside.some(({ isEqual }) => !isEqual) };
  });
}

function compared({ kind, name, failure, within }: ComparedRow) {
  const isRun = kind === "run";
  return {
    name: `${within}${kind === "log" ? "log" : `${kind} ${name}`}`,
    failed: !isRun && failure !== null,
  };
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
