/** Rejected calls with the reason: the page `/dashboard/refusals`, and a notice that links to it. */
import type { TeamId } from "../../../domain/core/ids.ts";
import { REFUSAL_LIMITS as KEPT } from "../../../domain/core/limits.ts";
import { DAY_MS, dayOf } from "../../../domain/core/time.ts";
import {
  IGNORED_PARAMETER,
  type Refusal,
  type RefusalCode,
  type RefusalCount,
} from "../../../domain/refusals/refusals.ts";
import { teamKey } from "../../http/access.ts";
import type { Handler } from "../../http/admission.ts";
import type { AppDeps } from "../../http/context.ts";
import type { DashboardPage } from "../layout/page.ts";
import { REFUSALS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Empty, InlineNotice, Section } from "../components/elements.tsx";
import { At } from "../components/time.tsx";
import { countedText, formatCount } from "../components/format.ts";
import { type Column, numberColumn, Table } from "../components/table.tsx";

/** Shows the calls that were rejected in the last days. */
const showRefusals: Handler = async (c, { refusals, environment }) => {
  const nowMs = environment.now();
  const { counts, latest } = await refusals.read(c.get("principal").team.id, nowMs);
  const body = counts.length === 0 ? <NoRefusals /> : (
    <>
      <CodesTable counts={counts} nowMs={nowMs} />
      <LatestTable latest={latest} />
    </>
  );
  return showPage(c, { title: "Rejected requests", body });
};

function NoRefusals() {
  return (
    <Empty title="No request was rejected">
      <p>
        Calls that the service does not accept are counted here for {KEPT.days}{" "}
        days, with the reason. So are calls that exceed the request rate, and parameters that were
        ignored.
      </p>
    </Empty>
  );
}

/** Shows a code; an accepted call is called so. */
function Code({ code }: { readonly code: RefusalCode }) {
  return (
    <>
      <code>{code}</code>
      {code === IGNORED_PARAMETER && " accepted, but a parameter was ignored"}
    </>
  );
}

interface CodeRow {
  readonly code: RefusalCode;
  readonly today: number;
  readonly yesterday: number;
  readonly all: number;
}

const CODE_COLUMNS: readonly Column<CodeRow>[] = [
  { head: "Code", isName: true, cell: Code },
  numberColumn("Today", ({ today }) => formatCount(today), "today"),
  numberColumn("Yesterday", ({ yesterday }) => formatCount(yesterday), "yesterday"),
  numberColumn(`${KEPT.days} days`, ({ all }) => formatCount(all), `in ${KEPT.days} days`),
];

interface CountsProps {
  readonly counts: readonly RefusalCount[];
  readonly nowMs: number;
}

/** Shows how often each code occurred, the most frequent first. */
function CodesTable({ counts, nowMs }: CountsProps) {
  const rows = Array.from(Map.groupBy(counts, ({ code }) => code), ([code, days]): CodeRow => ({
    code,
    today: sum(days, (day) => day === dayOf(nowMs)),
    yesterday: sum(days, (day) => day === dayOf(nowMs - DAY_MS)),
    all: sum(days, () => true),
  })).sort((a, b) => b.all - a.all);
  return (
    <Section title="Reasons">
      <Table
        label="Reasons"
        class="fold"
        caption={<caption class="soft">Requests by reason; days are UTC.</caption>}
        columns={CODE_COLUMNS}
        rows={rows}
      />
    </Section>
  );
}

/**
 * Columns of calls. Agents are not linked: an agent whose calls were all rejected has no page.
 */
const LATEST_COLUMNS: readonly Column<Refusal>[] = [
  { head: "When", cell: ({ at }) => <At at={at} /> },
  { head: "Request", cell: ({ route }) => <code>{route}</code> },
  {
    head: "Answer",
    class: "whole",
    cell: ({ code, message }) => (
      <>
        <Code code={code} />
        {code === IGNORED_PARAMETER && ":"} {message}
      </>
    ),
  },
  { head: "Agent", before: "agent", cell: ({ agent }) => agent ?? "–" },
  { head: "Client", before: "client", cell: ({ userAgent }) => userAgent ?? "–" },
  { head: "X-Request-Id", cell: ({ requestId }) => <code>{requestId}</code> },
];

/** Shows the latest calls with their responses. */
function LatestTable({ latest }: { readonly latest: readonly Refusal[] }) {
  return (
    <Section title="Latest">
      <Table
        label="Latest"
        class="fold"
        caption={
          <caption class="soft">
            Up to {KEPT.latest} of the last {KEPT.days}{" "}
            days, newest first. Of calls that exceed the request rate only the first of each minute
            are listed.
          </caption>
        }
        columns={LATEST_COLUMNS}
        rows={latest}
      />
    </Section>
  );
}

/** Number of calls since yesterday. */
export interface RejectedCounts {
  readonly rejected: number;
  readonly ignored: number;
}

/** Counts a team's calls of today and yesterday (UTC); none if the last was more than 24 hours ago. */
export async function countRejected(
  { refusals }: Pick<AppDeps, "refusals">,
  team: TeamId,
  nowMs: number,
): Promise<RejectedCounts> {
  const { counts, latest } = await refusals.read(team, nowMs);
  const [newest] = latest;
  if (newest === undefined || newest.at <= nowMs - DAY_MS) return { rejected: 0, ignored: 0 };
  const yesterday = dayOf(nowMs - DAY_MS);
  const isRecent = (day: string) => day >= yesterday;
  const [ignored, rejected] = [true, false].map((isIgnored) =>
    sum(counts.filter(({ code }) => (code === IGNORED_PARAMETER) === isIgnored), isRecent)
  );
  return { rejected: rejected!, ignored: ignored! };
}

function sum(counts: readonly RefusalCount[], isCounted: (day: string) => boolean): number {
  return counts.reduce((sum, { day, count }) => isCounted(day) ? sum + count : sum, 0);
}

/** Shows the banner if any call was rejected, or accepted with an ignored parameter. */
export function RejectedBanner({ rejected, ignored }: RejectedCounts) {
  const verb = (count: number) => count === 1 ? "was" : "were";
  return rejected + ignored === 0 ? null : (
    <InlineNotice kind="warn">
      <p>
        {rejected > 0 && (
          <>
            <strong>{countedText(rejected, "request")} {verb(rejected)} rejected</strong>{" "}
            since yesterday (UTC). Nothing of {rejected === 1 ? "it" : "them"} was stored.{" "}
          </>
        )}
        {ignored > 0 && (
          <>
            <strong>{countedText(ignored, "request")} {verb(ignored)} accepted</strong>{" "}
            since yesterday (UTC), but a parameter was ignored.{" "}
          </>
        )}
        <a href={REFUSALS_PATH}>See which and why</a>
      </p>
    </InlineNotice>
  );
}

export const refusalsPage: DashboardPage = {
  path: REFUSALS_PATH,
  menu: { name: "Rejected requests", area: "settings" },
  access: teamKey("read"),
  handler: showRefusals,
};
