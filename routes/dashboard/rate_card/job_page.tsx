/** `/dashboard/rate-card/reprice/:id`: the progress of a job and the difference in cost. */
import type { Child } from "hono/jsx";
import type { JobState } from "../../../domain/core/jobs.ts";
import { isJobId, type RepriceBreakdown, type RepriceJob } from "../../../domain/repricing/job.ts";
import type { RepriceSum } from "../../../domain/repricing/reprice.ts";
import { modelKey } from "../../../domain/spend/spend.ts";
import { fail } from "../../http/answer.ts";
import type { Handler } from "../../http/admission.ts";
import { NO_SUCH_JOB } from "../../api/repricing/reprice.ts";
import { agentPath, queryText, RATE_CARD_PATH, RUNS_PATH, SPEND_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Actor, actorNames } from "../keys/labels.tsx";
import { Crumbs, InlineNotice, Money, Section, Tile } from "../components/elements.tsx";
import { Ago } from "../components/time.tsx";
import { countedText, formatCount } from "../components/format.ts";
import { type Column, countColumn, numberColumn, Table } from "../components/table.tsx";
import { dayText } from "../spend/labels.ts";
import { typedInstant } from "./rate_values.ts";
import { jobPath, REPRICE } from "./paths.ts";

/** Confirms that a price was stored. */
export const RATE_STORED =
  "The price is stored, and calls that come in from now on cost what it says.";

/** Seconds between reloads of the page while the job runs. */
const RELOAD_SECONDS = 1;

export const showJob: Handler = async (c, deps) => {
  const id = c.req.param("id") ?? "";
  const { team } = c.get("principal");
  const job = isJobId(id) ? await deps.reprices.get(team, id) : null;
  if (job === null) return fail(c, NO_SUCH_JOB);
  const creator = (await actorNames(deps, team, [job.createdBy])).get(job.createdBy) ?? null;
  const isDone = job.state === "done";
  const polls = isDone ? {} : {
    "hx-get": jobPath(id),
    "hx-trigger": `every ${RELOAD_SECONDS}s`,
    "hx-select": "#job",
    "hx-swap": "outerHTML",
  };
  return showPage(c, {
    title: `${job.dryRun ? "What would change" : "Repricing"}: ${modelKey(job.spec)}`,
    crumbs: <Crumbs links={[["Prices", RATE_CARD_PATH], ["Reprice calls", REPRICE]]} />,
    ...(isDone ? {} : { reloadSeconds: RELOAD_SECONDS }),
    body: (
      <div id="job" class="job" {...polls}>
        {c.req.query("done") === "stored" && (
          <InlineNotice kind="good">
            <p>{RATE_STORED}</p>
          </InlineNotice>
        )}
        <Progress job={job} creator={creator} now={deps.environment.now()} />
        <Tiles job={job} />
        {isDone && <NextStep job={job} />}
        <Breakdown shares={job.shares} />
      </div>
    ),
  });
};

interface ProgressProps {
  readonly job: RepriceJob;
  readonly creator: string | null;
  readonly now: number;
}

function Progress({ job, creator, now }: ProgressProps) {
  const percent = Math.floor(job.progress * 100);
  return (
    <>
      <p>
        {job.dryRun ? "Looks at" : "Prices"} stored calls of <b>{modelKey(job.spec)}</b>, runs:{" "}
        {periodText(job)}. Begun <Ago at={job.createdAt} now={now} /> by{" "}
        <Actor id={job.createdBy} name={creator} />.
      </p>
      <p aria-live="polite">
        <b>{percent}%</b>, {JOB_STATE_LABELS[job.state]}
        <progress value={percent} max={100} aria-label="How far the job is" />
      </p>
    </>
  );
}

function Tiles({ job: { sum, runs, changed, failed, dryRun } }: { readonly job: RepriceJob }) {
  return (
    <div class="tiles">
      <Tile name="Difference " value={<CostDifference of={sum} />}>
        <span class="soft">
          <Money of={sum.before} /> before, <Money of={sum.after} /> {dryRun ? "then" : "now"}
        </span>
      </Tile>
      <Tile name="Calls " value={formatCount(sum.calls)} />
      <Tile name="Runs with such calls " value={formatCount(runs)} />
      <Tile
        name={dryRun ? "Runs that would change " : "Runs that changed "}
        value={formatCount(changed)}
      >
        {failed !== 0 && (
          <span class="soft">{formatCount(failed)} could not be read and stay as they are</span>
        )}
      </Tile>
    </div>
  );
}

/** Shows the next step once the job is done. */
function NextStep({ job }: { readonly job: RepriceJob }) {
  const { spec, changed, dryRun, sum } = job;
  const fields = [
    ["model", spec.model],
    ["provider", spec.provider ?? ""],
    ["from", typedInstant(spec.from)],
    ["to", typedInstant(spec.to)],
  ] as const;
  const again = REPRICE + queryText(fields);
  if (!dryRun) {
    return (
      <InlineNotice kind="good">
        <p>
          Done: {countedText(changed, "run")} changed in cost. Sums follow within seconds:{" "}
          <a href={SPEND_PATH}>look at the spend</a>, or at{" "}
          <a href={`${RUNS_PATH}${queryText([["model", spec.model]])}`}>the runs</a>.
        </p>
      </InlineNotice>
    );
  }
  if (changed === 0) {
    return (
      <InlineNotice kind="good">
        <p>
          Nothing would change: {sum.calls === 0
            ? "no stored call names this model with this provider in these runs."
            : "each of these calls has the price that the card says."}{" "}
          <a href={again}>Ask for other calls</a>
        </p>
      </InlineNotice>
    );
  }
  return (
    <form method="post" action={REPRICE}>
      {fields.map(([name, value]) => <input type="hidden" name={name} value={value} />)}
      <div class="actions">
        <button type="submit" class="btn main" name="dry_run" value="false">
          Reprice {countedText(changed, "run")} now
        </button>
        <a href={again} class="btn">Choose other runs</a>
      </div>
      <p class="soft">Nothing has changed so far. The card as it is at that moment counts.</p>
    </form>
  );
}

/** Shows the difference by agent and by day. */
function Breakdown({ shares: { agents, days } }: { readonly shares: RepriceBreakdown }) {
  if (agents.length === 0) return null;
  const differenceOf = ({ sum }: { readonly sum: RepriceSum }) => sum.after - sum.before;
  const byDifference = agents.toSorted((a, b) => Number(differenceOf(b) - differenceOf(a)));
  return (
    <>
      <Section title="By agent">
        <Shares
          by="Agent"
          rows={byDifference.map(({ agent, sum }) => ({
            name: agent === null
              ? "all others"
              : <a class="row" href={agentPath(agent)}>{agent}</a>,
            sum,
          }))}
        />
      </Section>
      <Section title="By day">
        <Shares
          by="Day (UTC)"
          rows={days.map(({ from, to, sum }) => ({
            name: from === to ? dayText(from) : `${dayText(from)} to ${dayText(to)}`,
            sum,
          }))}
        />
      </Section>
    </>
  );
}

interface Share {
  readonly name: Child;
  readonly sum: RepriceSum;
}

function Shares({ by, rows }: { readonly by: string; readonly rows: readonly Share[] }) {
  const columns: readonly Column<Share>[] = [
    { head: by, isName: true, cell: ({ name }) => name },
    numberColumn("Difference", ({ sum }) => <CostDifference of={sum} />),
    numberColumn("Before", ({ sum }) => <Money of={sum.before} />, "before"),
    numberColumn("After", ({ sum }) => <Money of={sum.after} />, "after"),
    countColumn("Calls", ({ sum }) => sum.calls, "call"),
  ];
  return <Table label={`Difference by ${by}`} class="fold named" {...{ columns, rows }} />;
}

/** Labels for job states. */
export const JOB_STATE_LABELS: Readonly<Record<JobState, string>> = {
  waiting: "waits for recent calls to be aggregated",
  running: "under way",
  done: "done",
};

/** Shows a difference with its sign. */
export function CostDifference({ of: { before, after } }: { readonly of: RepriceSum }) {
  const by = after - before;
  return (
    <>
      {by > 0n ? "+" : ""}
      <Money of={by} />
    </>
  );
}

/** Describes which runs a job visits. */
export function periodText({ spec: { from, to } }: RepriceJob): string {
  if (from === null && to === null) return "all";
  const since = from === null ? "" : `from ${typedInstant(from)}`;
  const until = to === null ? "" : `before ${typedInstant(to)}`;
  return [since, until].filter((text) => text !== "").join(" ");
}
