/** The banner about the events of the month. */
import type { QuotaUse } from "../../../domain/teams/quota.ts";
import { InlineNotice } from "../components/elements.tsx";
import { formatCount, percentText } from "../components/format.ts";
import { PLAN_PATH, queryText, SPEND_PATH } from "./paths.ts";

/** Shows how much of the month's events are used, and what can be done. */
export function QuotaBanner({ month, state, used, included }: QuotaUse) {
  const from = `${month}-01`;
  const byAgent = `${SPEND_PATH}${queryText([["group_by", "agent"], ["from", from]])}`;
  return (
    <InlineNotice kind={state === "over" ? "bad" : "warn"}>
      <p>
        <strong>
          {state === "over"
            ? "Over quota: this month's events are used up."
            : "Heads-up: 80% or more of this month's events are used."}
        </strong>{" "}
        {formatCount(used)} of {formatCount(included)}{" "}
        ({percentText(used, included)}). Nothing is cut off and nothing is charged.{" "}
        <a href={PLAN_PATH}>See where the month is heading</a> and{" "}
        <a href={byAgent}>which agents do the work</a>; if it is what you need, ask for a larger
        plan.
      </p>
    </InlineNotice>
  );
}
