/** `/dashboard/rate-card/reprice/:id`: what new prices change, before and while they do. */
import type { Child } from "hono/jsx";
import { isJobId, type RepriceJob } from "../../../domain/repricing/job.ts";
import type { RepriceBreakdown } from "../../../domain/repricing/breakdown.ts";
import type { RepriceSum } from "../../../domain/repricing/reprice.ts";
import { modelKey } from "../../../domain/spend/spend.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { NO_SUCH_JOB } from "../../api/repricing/reprice.ts";
import { agentPath, queryText, RUNS_PATH, SPEND_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Actor, type ActorNames, actorNames } from "../keys/actor.tsx";
import { Ago, InlineNotice, Money, Wide } from "../components/elements.tsx";
import { countedText, formatCount, pluralOf } from "../components/format.ts";
import { dayText } from "../spend/labels.ts";
import { CostDifference, JOB_STATE_LABELS, periodText } from "./labels.tsx";
import { typedInstant } from "./rate_form_values.ts";
import { jobPath, REPRICE } from "./paths.ts";

/** Seconds after which a job that is under way is looked at again. */
const LOOK_AGAIN_SECONDS = 1;

/** Shows a job. */
export function showJob(deps: AppDeps): Handle {
  return async (c) => {
    const id = c.req.param("id") ?? "";
    const { team } = c.get("principal");
    const job = isJobId(id) ? await deps.reprices.get(team, id) : null;
    if (job === null) return fail(c, NO_SUCH_JOB);
    const names = await actorNames(deps, team, [job.createdBy]);
    const isDone = job.state === "done";
    const polls = isDone ? {} : {
      "hx-get": jobPath(id),
      "hx-trigger": `every ${LOOK_AGAIN_SECONDS}s`,
      "hx-select": "#job",
      "hx-swap": "outerHTML",
    };
    return showPage(c, {
      title: `${job.dryRun ? "What would change" : "Pricing anew"}: ${modelKey(job.spec)}`,
      aside: <a href={REPRICE}>All jobs</a>,
      ...(isDone ? {} : { reloadSeconds: LOOK_AGAIN_SECONDS }),
      body: (
        <div id="job" class="job" {...polls}>
          {c.req.query("done") === "stored"
            ? (
              <InlineNotice kind="good">
                <p>The price is stored, and calls that come in from now on cost what it says.</p>
              </InlineNotice>
            )
            : null}
          <Standing job={job} names={names} now={deps.environment.now()} />
          <Sums job={job} />
          {isDone ? <Next job={job} /> : null}
          <Shares shares={job.shares} />
        </div>
      ),
    });
  };
}

/** How far it is. */
function Standing(
  { job, names, now }: {
    readonly job: RepriceJob;
    readonly names: ActorNames;
    readonly now: number;
  },
) {
  const percent = Math.floor(job.progress * 100);
  return (
    <>
      <p>
        {job.dryRun ? "Looks at" : "Prices"} stored calls of <b>{modelKey(job.spec)}</b>, runs:{" "}
        {periodText(job)}. Begun <Ago at={job.createdAt} now={now} /> by{" "}
        <Actor id={job.createdBy} name={names.get(job.createdBy) ?? null} />.
      </p>
      <p aria-live="polite">
        <b>{percent}%</b>, {JOB_STATE_LABELS[job.state]}
        <progress value={percent} max={100} aria-label="How far the job is" />
      </p>
    </>
  );
}

function Sums({ job: { sum, runs, changed, failed, dryRun } }: { readonly job: RepriceJob }) {
  return (
    <div class="tiles">
      <div class="tile">
        Difference{" "}
        <b>
          <CostDifference of={sum} />
        </b>
        <span class="soft">
          <Money of={sum.before} /> before, <Money of={sum.after} /> {dryRun ? "then" : "now"}
        </span>
      </div>
      <div class="tile">
        Calls <b>{formatCount(sum.calls)}</b>
      </div>
      <div class="tile">
        Runs with such calls <b>{formatCount(runs)}</b>
      </div>
      <div class="tile">
        {dryRun ? "Runs that would change" : "Runs that changed"} <b>{formatCount(changed)}</b>
        {failed === 0
          ? null
          : <span class="soft">{formatCount(failed)} could not be read and stay as they are</span>}
      </div>
    </div>
  );
}

/** What to do when it is done. */
function Next({ job }: { readonly job: RepriceJob }) {
  const { spec, changed, dryRun, sum } = job;
  const again = REPRICE + queryText([
    ["model", spec.model],
    ["provider", spec.provider],
    ["from", typedInstant(spec.from)],
    ["to", typedInstant(spec.to)],
  ]);
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
      <input type="hidden" name="model" value={spec.model} />
      <input type="hidden" name="provider" value={spec.provider ?? ""} />
      <input type="hidden" name="from" value={typedInstant(spec.from)} />
      <input type="hidden" name="to" value={typedInstant(spec.to)} />
      <div class="actions">
        <button type="submit" name="dry_run" value="false">
          Re-price {countedText(changed, "run")} now
        </button>
        <a href={again} role="button" class="secondary outline">Choose other runs</a>
      </div>
      <p class="soft">Nothing has changed so far. The card as it is at that moment counts.</p>
    </form>
  );
}

/** Where the difference is from. */
function Shares({ shares: { agents, days } }: { readonly shares: RepriceBreakdown }) {
  if (agents.length === 0) return null;
  const byDifference = agents.toSorted((a, b) => {
    const [less, more] = [a.sum, b.sum].map(({ before, after }) => after - before) as [
      bigint,
      bigint,
    ];
    return less === more ? 0 : less > more ? -1 : 1;
  });
  return (
    <>
      <h2>By agent</h2>
      <ShareTable
        first="Agent"
        rows={byDifference.map(({ agent, sum }) => [
          agent === null ? "all others" : <a href={agentPath(agent)}>{agent}</a>,
          sum,
        ])}
      />
      <h2>By day</h2>
      <ShareTable
        first="Day (UTC)"
        rows={days.map(({ from, to, sum }) => [
          from === to ? dayText(from) : `${dayText(from)} to ${dayText(to)}`,
          sum,
        ])}
      />
    </>
  );
}

function ShareTable(
  { first, rows }: {
    readonly first: string;
    readonly rows: readonly (readonly [Child, RepriceSum])[];
  },
) {
  return (
    <Wide label={`Difference by ${first}`}>
      <table class="named folding">
        <thead>
          <tr>
            <th scope="col">{first}</th>
            <th scope="col" class="number">Difference</th>
            <th scope="col" class="number">Before</th>
            <th scope="col" class="number">After</th>
            <th scope="col" class="number">Calls</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, sum]) => (
            <tr>
              <th scope="row">{name}</th>
              <td class="number">
                <CostDifference of={sum} />
              </td>
              <td class="number" data-unit="before">
                <Money of={sum.before} />
              </td>
              <td class="number" data-unit="after">
                <Money of={sum.after} />
              </td>
              <td class="number" data-unit={pluralOf(sum.calls, "call")}>
                {formatCount(sum.calls)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}
