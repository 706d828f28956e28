/** Banners for problems, each with a remedy. */
import type { DeadStage } from "../../../domain/runs/processing.ts";
import { queryText, runPath, SPEND_PATH, USAGE_PATH } from "../layout/paths.ts";
import { InlineNotice } from "../components/elements.tsx";
import { countedText, formatCount, percentText } from "../components/format.ts";
import { RejectedBanner } from "../refusals/banner.tsx";
import type { Overview, Quota, UnpricedCalls } from "./read.ts";

/** Maximum models named; the spend page names all. */
const MODELS_NAMED = 3;

/** Shows the banners that apply. */
export function Banners({ of }: { readonly of: Overview }) {
  const { quota, unpriced, dead, rejected, span } = of;
  return (
    <>
      {dead.stages.length === 0 ? null : <DeadBanner stages={dead.stages} hasMore={dead.hasMore} />}
      <RejectedBanner count={rejected} />
      {quota.state === "normal" ? null : <QuotaBanner of={quota} from={span.from} />}
      {unpriced === null ? null : <UnpricedBanner of={unpriced} from={span.from} />}
    </>
  );
}

function QuotaBanner({ of, from }: { readonly of: Quota; readonly from: string }) {
  const isOver = of.state === "over";
  const byAgent = `${SPEND_PATH}${queryText([["group_by", "agent"], ["from", from]])}`;
  return (
    <InlineNotice kind={isOver ? "bad" : "warn"}>
      <p>
        <strong>
          {isOver
            ? "Over quota: this month's events are used up."
            : "Heads-up: 80% or more of this month's events are used."}
        </strong>{" "}
        {formatCount(of.used)} of {formatCount(of.included)}{" "}
        ({percentText(of.used, of.included)}). Nothing is cut off and nothing is charged.{" "}
        <a href={USAGE_PATH}>See where the month is heading</a> and{" "}
        <a href={byAgent}>which agents do the work</a>; if it is what you need, ask for a larger
        plan.
      </p>
    </InlineNotice>
  );
}

function UnpricedBanner({ of, from }: { readonly of: UnpricedCalls; readonly from: string }) {
  const { calls, models } = of;
  const named = models.slice(0, MODELS_NAMED);
  const more = models.length - named.length;
  return (
    <InlineNotice kind="warn">
      <p>
        <strong>
          {countedText(calls, "call")} {calls === 1 ? "has" : "have"} no price
        </strong>{" "}
        since {from} and {calls === 1 ? "counts" : "count"} as $0, so costs are too low
        {named.length === 0 ? null : ": "}
        {named.map((name, i) => (
          <>
            {i === 0 ? null : ", "}
            <code>{name}</code>
          </>
        ))}
        {more > 0 ? ` and ${formatCount(more)} more` : null}.{" "}
        <a href={`${SPEND_PATH}#unpriced`}>Add a price</a>, then reprice those calls.
      </p>
    </InlineNotice>
  );
}

function DeadBanner(
  { stages, hasMore }: { readonly stages: readonly DeadStage[]; readonly hasMore: boolean },
) {
  const count = stages.length;
  const subject = count === 1 && !hasMore ? "run is" : "runs are";
  return (
    <InlineNotice kind="bad">
      <p>
        <strong>
          {hasMore ? `More than ${count}` : count} {subject}{" "}
          stuck: a step after the end was given up.
        </strong>{" "}
        Fix the error; then the operator of this service retries it with{" "}
        <code>deno task jobs --redrive=RUN_ID</code>.
      </p>
      <ul>{stages.map((stage) => <Dead of={stage} />)}</ul>
    </InlineNotice>
  );
}

function Dead({ of: { run, stage } }: { readonly of: DeadStage }) {
  return (
    <li>
      {stage.stage} of{" "}
      <a href={runPath(run)}>
        <code>{run}</code>
      </a>{" "}
      after {stage.attempts} tries: {stage.error ?? "no error was kept"}
    </li>
  );
}
