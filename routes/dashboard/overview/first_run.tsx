/** The first-run guide, for teams without recent runs. */
import type { Team } from "../../../domain/teams/team.ts";
import type { Handler } from "../../http/admission.ts";
import { answerText, fail } from "../../http/answer.ts";
import type { AppDeps } from "../../http/context.ts";
import { DASHBOARD_PATH, RUNS_PATH } from "../layout/paths.ts";
import { Empty } from "../components/elements.tsx";
import {
  type CommandTarget,
  commandTarget,
  FirstCommand,
  pingCommand,
  SampleRuns,
  SAMPLES_ID,
} from "../components/first_command.tsx";
import { seeOther } from "../layout/reply.tsx";
import { Icon } from "../components/icons.tsx";
import { Ago } from "../components/time.tsx";
import { USUAL_DAYS } from "./overview_view.ts";

/** Reads the start of the newest run, unix milliseconds; null for a team that never had one. */
export async function readLastStart({ runList }: AppDeps, team: Team): Promise<number | null> {
  const { rows: [run] } = await runList.page(team, { from: null, to: null }, null, 1);
  return run === undefined ? null : run.startedAt ?? run.receivedAt;
}

/** Loads the sample runs; the answer waits for them. */
export const loadSampleRuns: Handler = async (c, deps) => {
  const { hasSamples } = await commandTarget(deps, c);
  if (!hasSamples || deps.loadSamples === null) {
    return fail(c, { code: "not_found", message: "Only deno task dev has sample runs" });
  }
  await deps.loadSamples();
  return c.req.header("hx-request") === "true"
    ? answerText(c, 204, null, null, { "HX-Refresh": "true", "Cache-Control": "no-store" })
    : seeOther(DASHBOARD_PATH);
};

interface FirstRunProps {
  readonly target: CommandTarget;
  readonly last: number | null;
  readonly nowMs: number;
}

/** Shows the first call to make, and the start of the newest run. */
export function FirstRunGuide({ target, last, nowMs }: FirstRunProps) {
  // A page that polls while samples are loading would show a part of them.
  const hasSamples = last === null && target.hasSamples;
  return (
    <Empty title={last === null ? "Send your first run" : "No recent runs"}>
      {last !== null && (
        <p>
          No run began today or in the {USUAL_DAYS} days before; the newest one began{" "}
          <Ago at={last} now={nowMs} />. <a href={RUNS_PATH}>See all runs</a>
        </p>
      )}
      <FirstCommand id="first-ping" text={pingCommand(target)} target={target} />
      <p
        class="wait"
        hx-get={DASHBOARD_PATH}
        hx-trigger="every 5s"
        hx-swap="none"
        hx-sync={hasSamples ? `#${SAMPLES_ID}:drop` : undefined}
        role="status"
      >
        <span class="st st-run">
          <Icon name="run" />
        </span>
        Waiting for the first run. This page changes by itself.
      </p>
      {hasSamples && <SampleRuns of={target} />}
      <p class="quiet">
        Runs with model calls, tokens and costs take three calls: see the <a href="/docs">API</a>.
      </p>
    </Empty>
  );
}
