/** `/dashboard/rate-card/reprice`: the form that reprices stored calls, and its jobs. */
import type { Child } from "hono/jsx";
import { existing, type Problem } from "../../../domain/core/errors.ts";
import type { JobState } from "../../../domain/core/jobs.ts";
import { isJobId, parseReprice, type RepriceJob } from "../../../domain/repricing/reprice_job.ts";
import type { RepriceSum } from "../../../domain/repricing/reprice.ts";
import { modelKey } from "../../../domain/spend/spend.ts";
import type { RequestContext } from "../../http/context.ts";
import { beginReprice, NO_SUCH_JOB } from "../../api/repricing/reprice.ts";
import { agentPath, queryText, RATE_CARD_PATH, RUNS_PATH, SPEND_PATH } from "../layout/paths.ts";
import { type PageHandler, seeOther, type View } from "../layout/page.tsx";
import { Actor, actorNames } from "../keys/labels.tsx";
import { At, Crumbs, Done, Money, reloading, Tiles } from "../components/elements.tsx";
import {
  type Column,
  countColumn,
  listPage,
  nameColumn,
  numberColumn,
  tableSection,
} from "../components/table.tsx";
import { bodyOf, formOf, readTexts, type Texts, valuesIn } from "../components/form_fields.tsx";
import { countedText, daysText, formatCount } from "../components/format.ts";
import { instantOfDay, momentText, typedInstant } from "./rate_form.tsx";
import { jobPath, REPRICE } from "./paths.ts";

/** Shows the form and past jobs. */
export const showReprices: PageHandler = async ({ c, deps, team }) =>
  formView(c, await deps.reprices.list(team), c.req.query(), null);

/** Starts a job: a dry run, unless the form requests repricing. */
export const submitReprice: PageHandler = async ({ c, deps, team, principal, onProblem }) => {
  const form = c.get("form");
  const texts = readTexts(form, ["model", "provider", "from", "to"]);
  const fields = valuesIn(
    texts,
    (text, name) => /^(from|to)$/.test(name) ? instantOfDay(text) : text,
  );
  const jobs = await deps.reprices.list(team);
  onProblem((problem) => formView(c, jobs, texts, problem));
  const body = bodyOf({ ...fields, dry_run: form.get("dry_run") !== "false" });
  const started = await beginReprice(deps, principal, parseReprice(body));
  return seeOther(jobPath(started.job.id));
};

function formView(
  c: RequestContext,
  jobs: readonly RepriceJob[],
  texts: Texts,
  problem: Problem | null,
): View {
  const { text } = formOf(texts, problem);
  const when = { placeholder: "YYYY-MM-DD", hint: "Empty: all runs." };
  return listPage({
    title: "Reprice calls",
    subtitle: "Stored costs do not change until you reprice them.",
    crumbs: <Crumbs links={[["Prices", RATE_CARD_PATH]]} />,
    notice: <Done c={c} />,
    filters: (
      <form method="post" action={REPRICE} class="rate-form">
        <fieldset>
          <legend class="sr">Which calls</legend>
          {text("model", "Model, as the calls name it", { required: true })}
          {text("provider", "Provider", { hint: "Empty: any provider." })}
          {text("from", "Runs from (UTC day)", when)}
          {text("to", "Runs before (UTC day)", when)}
        </fieldset>
        <div class="actions">
          <button type="submit" class="btn main" name="dry_run" value="true">
            See what would change
          </button>
          <span class="soft">This changes nothing yet.</span>
        </div>
      </form>
    ),
    table: {
      label: "Earlier jobs",
      caption: "Earlier jobs",
      class: "fold named",
      columns: JOBS,
      rows: jobs,
    },
    empty: [
      "No calls were repriced yet",
      "After a price has changed, see what the stored calls of its model would cost now.",
    ],
  });
}

const STATES: Readonly<Record<JobState, string>> = {
  waiting: "waits for recent calls to be aggregated",
  running: "under way",
  done: "done",
};

const JOBS: readonly Column<RepriceJob>[] = [
  nameColumn("Model", ({ id, spec }) => <a href={jobPath(id)}>{modelKey(spec)}</a>),
  { head: "Runs", before: "runs", cell: periodText },
  { head: "Kind", cell: ({ dryRun }) => dryRun ? "dry run" : "repriced" },
  { head: "State", cell: ({ state }) => STATES[state] },
  countColumn("Calls", ({ sum }) => sum.calls, "call"),
  numberColumn("Difference", ({ sum }) => <Difference of={sum} />),
  { head: "Started", before: "started", cell: ({ createdAt }) => <At at={createdAt} /> },
];

/** Shows a difference with its sign. */
function Difference({ of: { before, after } }: { readonly of: RepriceSum }) {
  return (
    <>
      {after > before && "+"}
      <Money of={after - before} />
    </>
  );
}

/** Describes which runs a job visits. */
function periodText({ spec: { from, to } }: RepriceJob): string {
  const since = from === null ? "" : `from ${momentText(from)}`;
  const until = to === null ? "" : `before ${momentText(to)}`;
  return `${since} ${until}`.trim() || "all";
}

/** Seconds between reloads of the page while the job runs. */
const RELOAD_SECONDS = 1;

/** Shows the progress of a job and the difference in cost. */
export const showJob: PageHandler = async (visit) => {
  const { c, deps, team } = visit;
  const id = c.req.param("id") ?? "";
  const job = existing(isJobId(id) ? await deps.reprices.get(team, id) : null, NO_SUCH_JOB);
  const names = await actorNames(visit, [job.createdBy]);
  const { spec, dryRun, state, sum, failed, shares } = job;
  const percent = Math.floor(job.progress * 100);
  const differenceOf = ({ sum }: { readonly sum: RepriceSum }) => Number(sum.after - sum.before);
  const agents = shares.agents.toSorted((a, b) => differenceOf(b) - differenceOf(a));
  return {
    title: `${dryRun ? "What would change" : "Repricing"}: ${modelKey(spec)}`,
    crumbs: <Crumbs links={[["Prices", RATE_CARD_PATH], ["Reprice calls", REPRICE]]} />,
    ...(state === "done" ? {} : { reloadSeconds: RELOAD_SECONDS }),
    body: (
      <div
        id="job"
        class="job"
        {...state !== "done" && reloading("job", jobPath(id), RELOAD_SECONDS)}
      >
        <Done c={c} />
        <p>
          {dryRun ? "Previews" : "Reprices"} stored calls of <b>{modelKey(spec)}</b>, runs:{" "}
          {periodText(job)}. Started <At at={job.createdAt} /> by{" "}
          <Actor id={job.createdBy} name={names.get(job.createdBy) ?? null} />.
        </p>
        <p aria-live="polite">
          <b>{percent}%</b>, {STATES[state]}
          <progress value={percent} max={100} aria-label="Progress of the job" />
        </p>
        <Tiles
          tiles={[
            [
              "Difference",
              <Difference of={sum} />,
              [
                <Money of={sum.before} />,
                " before, ",
                <Money of={sum.after} />,
                dryRun ? " then" : " now",
              ],
            ],
            ["Calls", formatCount(sum.calls)],
            ["Runs with such calls", formatCount(job.runs)],
            [
              `Runs that ${dryRun ? "would change" : "changed"}`,
              formatCount(job.changed),
              failed > 0 && `${formatCount(failed)} could not be read and stay as they are`,
            ],
          ]}
        />
        {state === "done" && <NextStep job={job} />}
        {agents.length > 0 && [
          <Shares
            by="agent"
            rows={agents.map(({ agent, sum }) => [
              agent === null ? "all others" : <a class="row" href={agentPath(agent)}>{agent}</a>,
              sum,
            ])}
          />,
          <Shares
            by="day"
            rows={shares.days.map(({ from, to, sum }) => [daysText(from, to), sum])}
          />,
        ]}
      </div>
    ),
  };
};

/** Shows the next step once the job is done. */
function NextStep({ job: { spec, changed, dryRun, sum } }: { readonly job: RepriceJob }) {
  const fields = [
    ["model", spec.model],
    ["provider", spec.provider ?? ""],
    ["from", typedInstant(spec.from)],
    ["to", typedInstant(spec.to)],
  ] as const;
  const again = <a href={REPRICE + queryText(fields)}>Choose other runs</a>;
  if (dryRun && changed > 0) {
    return (
      <form method="post" action={REPRICE}>
        {fields.map(([name, value]) => <input type="hidden" name={name} value={value} />)}
        <div class="actions">
          <button type="submit" class="btn main" name="dry_run" value="false">
            Reprice {countedText(changed, "run")} now
          </button>
          {again}
        </div>
        <p class="soft">Nothing has changed so far. The job uses the prices at its start.</p>
      </form>
    );
  }
  return (
    <p class="notice good">
      {!dryRun
        ? `Done: ${countedText(changed, "run")} changed in cost. Totals follow within seconds.`
        : sum.calls === 0
        ? "Nothing would change: no stored call names this model with this provider in these runs."
        : "Nothing would change: each of these calls has the price that the card says."}{" "}
      {dryRun ? again : <a href={SPEND_PATH}>See the spend</a>}{" "}
      {!dryRun && <a href={RUNS_PATH + queryText([["model", spec.model]])}>See the runs</a>}
    </p>
  );
}

type Share = readonly [name: Child, sum: RepriceSum];

const SHARES: readonly Column<Share>[] = [
  numberColumn("Difference", ([, sum]) => <Difference of={sum} />),
  numberColumn("Before", ([, { before }]) => <Money of={before} />, "before"),
  numberColumn("After", ([, { after }]) => <Money of={after} />, "after"),
  countColumn("Calls", ([, { calls }]) => calls, "call"),
];

/** The difference in cost by agent or by day. */
function Shares({ by, rows }: { readonly by: "agent" | "day"; readonly rows: readonly Share[] }) {
  const head = by === "agent" ? "Agent" : "Day (UTC)";
  const columns = [{ head, isName: true, cell: ([name]: Share) => name }, ...SHARES];
  return tableSection(`By ${by}`, { class: "fold named", columns, rows });
}
