/** Rejected calls with the reason: the page `/dashboard/refusals`, and a notice that links to it. */
import { REFUSAL_LIMITS as KEPT } from "../../../domain/core/limits.ts";
import {
  IGNORED_PARAMETER,
  recentRefusals,
  type Refusal,
  type RefusalCount,
} from "../../../domain/refusals/refusals.ts";
import { teamKey } from "../../http/access.ts";
import type { DashboardPage, PageHandler, Reader } from "../layout/page.tsx";
import { REFUSALS_PATH } from "../layout/paths.ts";
import { At, Empty, InlineNotice } from "../components/elements.tsx";
import { countedText, dayText } from "../components/format.ts";
import {
  type Column,
  column,
  countColumn,
  nameColumn,
  tableSection,
} from "../components/table.tsx";

/** Shows the calls that were rejected in the last days. */
const showRefusals: PageHandler = async ({ deps: { refusals, environment }, team }) => {
  const { counts, latest } = await refusals.read(team.id, environment.now());
  const body = counts.length === 0
    ? (
      <Empty title="No request was rejected">
        <p>
          {`Calls that the service does not accept are counted here for ${KEPT.days} days, with the `}
          reason. So are calls that exceed the request rate, and parameters that were ignored.
        </p>
      </Empty>
    )
    : [
      tableSection("Reasons", {
        caption: "By day (UTC), the most frequent first.",
        columns: COUNT_COLUMNS,
        rows: counts,
      }),
      tableSection("Latest", {
        caption: `Up to ${KEPT.latest} of the last ${KEPT.days} days, newest first. Of calls ` +
          "that exceed the request rate only the first of each minute are listed.",
        columns: LATEST_COLUMNS,
        rows: latest,
      }),
    ];
  return { title: "Rejected requests", body };
};

/** Shows a code; an accepted call is called so. */
function codeOf({ code }: Pick<Refusal, "code">) {
  return [
    <code>{code}</code>,
    code === IGNORED_PARAMETER && " accepted, but a parameter was ignored",
  ];
}

const COUNT_COLUMNS: readonly Column<RefusalCount>[] = [
  { head: "Day", cell: ({ day }) => dayText(day) },
  nameColumn("Code", codeOf),
  countColumn("Requests", ({ count }) => count, "request"),
];

/**
 * Columns of calls. Agents are not linked: an agent whose calls were all rejected has no page.
 */
const LATEST_COLUMNS: readonly Column<Refusal>[] = [
  { head: "When", cell: ({ at }) => <At at={at} /> },
  { head: "Request", cell: ({ route }) => <code>{route}</code> },
  column("Answer", { class: "whole" }, (refusal) => [
    codeOf(refusal),
    refusal.code === IGNORED_PARAMETER ? ": " : " ",
    refusal.message,
  ]),
  { head: "Agent", before: "agent", cell: ({ agent }) => agent ?? "–" },
  { head: "Client", before: "client", cell: ({ userAgent }) => userAgent ?? "–" },
  { head: "X-Request-Id", cell: ({ requestId }) => <code>{requestId}</code> },
];

/** Counts a team's refused calls of today and yesterday. */
export async function countRejected({ deps, team }: Reader, nowMs: number) {
  return recentRefusals(await deps.refusals.read(team.id, nowMs), nowMs);
}

/** Shows the banner if any call was rejected, or accepted with an ignored parameter. */
export function RejectedBanner({ rejected, ignored }: Record<"rejected" | "ignored", number>) {
  const counted = (count: number, outcome: string) => (
    <strong>{countedText(count, "request")} {count === 1 ? "was" : "were"} {outcome}</strong>
  );
  const since = " since yesterday (UTC)";
  const none = `${since}. ${rejected === 1 ? "It was not" : "None was"} stored. `;
  return rejected + ignored > 0 && (
    <InlineNotice kind="warn">
      {rejected > 0 && [counted(rejected, "rejected"), none]}
      {ignored > 0 && [counted(ignored, "accepted"), `${since}, but a parameter was ignored. `]}
      <a href={REFUSALS_PATH}>See which and why</a>
    </InlineNotice>
  );
}

export const refusalsPage: DashboardPage = {
  path: REFUSALS_PATH,
  menu: { name: "Rejected requests", area: "settings" },
  access: teamKey("read"),
  handler: showRefusals,
};
