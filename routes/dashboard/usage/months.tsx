/** The last months beside each other. */
import type { QuotaState } from "../../../domain/teams/quota.ts";
import type { UsageView } from "../../api/teams/usage.ts";
import { queryText, USAGE_PATH } from "../layout/paths.ts";
import { Wide } from "../components/elements.tsx";
import { percent } from "../components/column_chart.tsx";
import { formatCount, percentText } from "../components/format.ts";

/** What each state is called, with a sign of its own. */
export const NOTICE_STATE_LABELS: Readonly<
  Record<QuotaState, { readonly sign: string; readonly word: string; readonly meaning: string }>
> = {
  normal: {
    sign: "✓",
    word: "Within the plan",
    meaning: "below 80% of its events.",
  },
  heads_up: {
    sign: "▲",
    word: "Heads-up",
    meaning: "80% of the events or more are used. Every call is taken as before.",
  },
  over: {
    sign: "✕",
    word: "Over the plan",
    meaning: "Nothing is cut off and nothing is charged; if it stays so, ask for a larger plan.",
  },
};

/** Shows the months with usage, latest first. */
export function MonthsTable({ of }: { readonly of: UsageView }) {
  const { months, included, month } = of;
  const most = Math.max(...months.map(({ used }) => used), 1);
  const isLimited = included !== Infinity;
  return (
    <section>
      <h2>Months</h2>
      {months.length === 0 ? <p>Nothing was counted yet.</p> : (
        <Wide label="Events by month">
          <table>
            <caption class="soft">The last 12 months with any events</caption>
            <thead>
              <tr>
                <th scope="col">Month (UTC)</th>
                <th scope="col" class="number">Events</th>
                {isLimited
                  ? (
                    <>
                      <th scope="col" class="number">Of today's plan</th>
                      <th scope="col">State</th>
                    </>
                  )
                  : null}
                <th scope="col" class="compared">Compared</th>
              </tr>
            </thead>
            <tbody>
              {months.map((past) => (
                <MonthRow
                  of={past}
                  included={included}
                  most={most}
                  isShown={past.month === month}
                />
              ))}
            </tbody>
          </table>
        </Wide>
      )}
    </section>
  );
}

interface Row {
  readonly of: UsageView["months"][number];
  readonly included: number;
  readonly most: number;
  readonly isShown: boolean;
}

function MonthRow({ of: { month, used, state }, included, most, isShown }: Row) {
  const { sign, word } = NOTICE_STATE_LABELS[state];
  return (
    <tr>
      <th scope="row">
        <a
          href={`${USAGE_PATH}${queryText([["month", month]])}`}
          {...(isShown ? { "aria-current": "true" } : {})}
        >
          {month}
        </a>
      </th>
      <td class="number">{formatCount(used)}</td>
      {included === Infinity ? null : (
        <>
          <td class="number">{percentText(used, included)}</td>
          <td>
            <span class={`quota ${state}`}>
              <span aria-hidden="true">{sign}</span> {word}
            </span>
          </td>
        </>
      )}
      <td class="compared">
        <svg class="columns" width="100%" height="14" aria-hidden="true">
          <rect class={`quota ${state}`} width={percent(100 * used / most)} height="14" />
        </svg>
      </td>
    </tr>
  );
}
