/** The first-run guide, for teams without recent runs. */
import type { Team } from "../../../domain/teams/team.ts";
import type { AppDeps } from "../../http/context.ts";
import { DASHBOARD_PATH, KEYS_PATH, RUNS_PATH } from "../layout/paths.ts";
import { Ago, Copyable, Empty } from "../components/elements.tsx";
import { DAYS_BEFORE } from "./day_metrics.ts";

/** Reads the start of the newest run, unix milliseconds; null for a team that never had one. */
export async function readLastStart({ runList }: AppDeps, team: Team): Promise<number | null> {
  const { rows: [run] } = await runList.page(team, { from: null, to: null }, null, 1);
  return run === undefined ? null : run.startedAt ?? run.receivedAt;
}

interface FirstRunProps {
  readonly origin: string;
  readonly last: number | null;
  readonly mayCreateKeys: boolean;
  readonly nowMs: number;
}

/** Shows the first call to make, and the start of the newest run. */
export function FirstRunGuide({ origin, last, mayCreateKeys, nowMs }: FirstRunProps) {
  const line = `curl -fsS -u "$RUNLEDGER_KEY:" "${origin}/v1/ping?agent=nightly&exit_code=$?"`;
  return (
    <Empty title={last === null ? "Send the first run" : "No recent runs"}>
      {last !== null && (
        <p>
          No run began today or in the {DAYS_BEFORE} days before; the newest one began{" "}
          <Ago at={last} now={nowMs} />. <a href={RUNS_PATH}>See all runs</a>
        </p>
      )}
      <ol>
        <li>
          In a shell, put a key with the scope <code>ingest</code> into <code>RUNLEDGER_KEY</code>:
          {" "}
          {mayCreateKeys
            ? <a href={KEYS_PATH}>create one</a>
            : "a team member with the scope admin creates them"}.
        </li>
        <li>
          Put this line after any job; its exit code says how the run ended.
          <Copyable id="first-ping" text={line} />
        </li>
        <li>
          <span hx-get={DASHBOARD_PATH} hx-trigger="every 5s" hx-swap="none" role="status">
            This page fills by itself: it is waiting for the run.
          </span>
        </li>
      </ol>
      <p class="soft">
        Runs with model calls, tokens and costs take three calls: see the <a href="/docs">API</a>.
      </p>
    </Empty>
  );
}
