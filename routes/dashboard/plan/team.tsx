/** A team and what its plan includes, for its own page and for the operator. */
import type { Team } from "../../../domain/teams/team.ts";
import { CONTROL_RATE_FACTOR } from "../../../domain/core/limits.ts";
import { planOfTeam, type Rate } from "../../../domain/teams/plans.ts";
import { Ago, At, type KeyValue, KeyValues, Section, Sign } from "../components/elements.tsx";
import { formatCount } from "../components/format.ts";

/** Shows that a team is active, or since when it is suspended. */
export function teamState({ suspendedAt }: Team) {
  return suspendedAt === undefined ? <Sign icon="ok">active</Sign> : (
    <Sign icon="bad">
      suspended <Ago at={suspendedAt} />
    </Sign>
  );
}

/** Lists the stored attributes of a team. */
export function teamDetails(team: Team, more: readonly KeyValue[] = []) {
  const { id, tier, ownerEmail, createdAt } = team;
  return (
    <KeyValues
      pairs={[
        ["State", teamState(team)],
        ["Plan", tier],
        ["Owner", ownerEmail ?? "none: notices about the quota are not sent"],
        ["Created", createdAt === undefined ? "not known" : <At at={createdAt} />],
        ["Team id", <code>{id}</code>],
        ...more,
      ]}
    />
  );
}

/** Lists what a team's plan includes, with the team's own limits applied. */
export function teamPlan(team: Team) {
  const plan = planOfTeam(team);
  const rate = team.rate ?? { sustained: plan.requestsPerSecond, burst: plan.burst };
  const isOwn = team.rate !== undefined || team.limits !== undefined;
  const beyond = plan.eventsPerMonth === Infinity ? "" : "; beyond them nothing is refused";
  const sums = plan.recordDays === Infinity ? "" : "; sums by day stay";
  const metadata = plan.metadataKeysMax === 0 ? "none is kept" : limitText(plan.metadataKeysMax);
  return (
    <Section title="What the plan includes">
      <KeyValues
        pairs={[
          ["Events a month", limitText(plan.eventsPerMonth) + beyond],
          ["Requests a second", rateText(rate)],
          ["Agents", `${limitText(plan.agentsMax)}, archived ones not counted`],
          ["Metadata keys a run", metadata],
          ["Events, outputs kept", daysText(plan.payloadDays)],
          ["Records kept", daysText(plan.recordDays) + sums],
        ]}
      />
      {isOwn && (
        <p class="soft">Some of this is agreed for this team instead of the plan's limits.</p>
      )}
    </Section>
  );
}

function rateText({ sustained, burst }: Rate): string {
  if (sustained === Infinity) return limitText(sustained);
  return `${formatCount(sustained)} sustained, ${formatCount(burst)} in a burst to send runs; ` +
    `${CONTROL_RATE_FACTOR} times as many to read and change`;
}

function limitText(limit: number): string {
  return limit === Infinity ? "without limit" : formatCount(limit);
}

function daysText(days: number): string {
  return days === Infinity ? "for ever" : `${formatCount(days)} days`;
}
