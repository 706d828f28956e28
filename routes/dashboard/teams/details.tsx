/** What a team is and what its plan includes. */
import type { Child } from "hono/jsx";
import type { Team } from "../../../domain/teams/team.ts";
import { CONTROL_RATE_FACTOR } from "../../../domain/core/limits.ts";
import type { Rate } from "../../../domain/core/token_bucket.ts";
import { planOfTeam } from "../../../domain/teams/plans.ts";
import { Ago } from "../components/elements.tsx";
import { formatCount } from "../components/format.ts";

interface Of {
  readonly team: Team;
  readonly now: number;
}

/** Whether it is served. */
export function Served({ team: { suspendedAt }, now }: Of) {
  return suspendedAt === undefined
    ? <span class="state works">✓ served</span>
    : (
      <span class="state ending">
        ✕ suspended <Ago at={suspendedAt} now={now} />
      </span>
    );
}

/** Who it is. */
export function TeamDetails({ team, now, children }: Of & { readonly children?: Child }) {
  const { id, tier, ownerEmail, createdAt } = team;
  return (
    <dl class="pairs">
      <dt>State</dt>
      <dd>
        <Served team={team} now={now} />
      </dd>
      <dt>Plan</dt>
      <dd>{tier}</dd>
      <dt>Owner</dt>
      <dd>{ownerEmail ?? "nobody: notices about the quota are sent to no one"}</dd>
      <dt>Since</dt>
      <dd>{createdAt === undefined ? "not known" : <Ago at={createdAt} now={now} />}</dd>
      <dt>Team id</dt>
      <dd>
        <code>{id}</code>
      </dd>
      {children ?? null}
    </dl>
  );
}

/** What its plan includes, or what was agreed in its place. */
export function TeamPlan({ team }: { readonly team: Team }) {
  const plan = planOfTeam(team);
  const rate = team.rate ??
    { sustained: plan.requestsPerSecond, burst: plan.burst };
  const isOwn = team.rate !== undefined || team.limits !== undefined;
  return (
    <>
      <h2>What the plan includes</h2>
      <dl class="pairs">
        <dt>Events a month</dt>
        <dd>
          {limitText(plan.eventsPerMonth)}
          {plan.eventsPerMonth === Infinity ? null : "; beyond them nothing is refused"}
        </dd>
        <dt>Requests a second</dt>
        <dd>{rateText(rate)}</dd>
        <dt>Agents</dt>
        <dd>{limitText(plan.agentsMax)}, archived ones not counted</dd>
        <dt>Metadata keys a run</dt>
        <dd>{plan.metadataKeysMax === 0 ? "none is kept" : limitText(plan.metadataKeysMax)}</dd>
        <dt>Events, outputs kept</dt>
        <dd>{daysText(plan.payloadDays)}</dd>
        <dt>Records kept</dt>
        <dd>
          {daysText(plan.recordDays)}
          {plan.recordDays === Infinity ? null : "; sums by day stay"}
        </dd>
      </dl>
      {isOwn
        ? <p class="soft">Some of this is agreed for this team in place of the plan's.</p>
        : null}
    </>
  );
}

function rateText({ sustained, burst }: Rate): string {
  if (sustained === Infinity) return limitText(sustained);
  return `${formatCount(sustained)} on end, ${formatCount(burst)} at once; ` +
    `${CONTROL_RATE_FACTOR} times that for what is not ingest`;
}

function limitText(limit: number): string {
  return limit === Infinity ? "without limit" : formatCount(limit);
}

function daysText(days: number): string {
  return days === Infinity ? "for ever" : `${formatCount(days)} days`;
}
