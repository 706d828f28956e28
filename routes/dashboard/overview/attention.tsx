/** What needs attention: runs that do not end. */
import type { Child } from "hono/jsx";
import type { RunListRow } from "../../../domain/runs/list.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { AppDeps } from "../../http/context.ts";
import { queryText, runPath, RUNS_PATH } from "../layout/paths.ts";
import { Section } from "../components/elements.tsx";
import { durationText } from "../components/format.ts";
import { Icon, type IconName } from "../components/icons.tsx";
import { STUCK_MS } from "../components/run_state.tsx";
import { At } from "../components/time.tsx";

/** Entries shown of each kind. */
const SHOWN = 5;

/** What needs attention, each list in its order; one more than is shown says that there are more. */
export type Attention = Awaited<ReturnType<typeof readAttention>>;

/** Reads what needs attention, each part by a bounded range. */
export async function readAttention({ runList }: AppDeps, team: Team, now: number) {
  const open = { status: "running", from: null, to: now - STUCK_MS } as const;
  const stuck = await runList.page(team, open, null, SHOWN + 1);
  return { stuck: stuck.rows };
}

interface AttentionProps {
  readonly attention: Attention;
  readonly nowMs: number;
}

/** Lists what needs attention; nothing when all is well. */
export function NeedsAttention({ attention: { stuck }, nowMs }: AttentionProps) {
  if (stuck.length === 0) return null;
  return (
    <Section id="attention" title="Needs attention">
      <ul class="feed">
        {stuck.slice(0, SHOWN).map((run) => <StuckEntry run={run} now={nowMs} />)}
      </ul>
      {stuck.length > SHOWN && (
        <p class="foot">
          <a href={RUNS_PATH + queryText([["status", "running"]])}>All open runs</a>
        </p>
      )}
    </Section>
  );
}

function StuckEntry({ run, now }: { readonly run: RunListRow; readonly now: number }) {
  const startedAt = run.startedAt ?? run.receivedAt;
  return (
    <Entry
      to={runPath(run.id)}
      icon="late"
      name="st-late"
      title={`A run of ${run.agent ?? "an unknown agent"} does not end`}
      end={durationText(now - startedAt)}
    >
      <span class="more">
        Open since <At at={startedAt} />
      </span>
    </Entry>
  );
}

interface EntryProps {
  readonly to: string;
  readonly icon: IconName;
  /** Class of the icon's colour. */
  readonly name: string;
  readonly title: string;
  /** Shown at the right. */
  readonly end: Child;
  readonly children?: Child;
}

/** An entry of the feed, which is one link. */
function Entry({ to, icon, name, title, end, children }: EntryProps) {
  return (
    <li>
      <span class={`st ${name}`}>
        <Icon name={icon} />
      </span>
      <div>
        <a class="row" href={to}>{title}</a>
        <p>{children}</p>
      </div>
      <span class="end">{end}</span>
    </li>
  );
}
