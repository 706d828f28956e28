import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Team } from "../../../../domain/teams/team.ts";
import type { TeamId } from "../../../../domain/core/ids.ts";
import { planOfTeam, TIER_NAMES, TIERS } from "../../../../domain/teams/plans.ts";
import { differenceOf } from "../../../../domain/teams/audit_log.ts";
import {
  changedTeam,
  isTeamId,
  type TeamChange,
  teamFields,
} from "../../../../domain/teams/team_change.ts";
import { unlessRefused } from "../../../../domain/core/errors.ts";

const NOW = Date.UTC(2026, 10, 21, 12);
const TEAM: Team = { id: "0".repeat(26) as TeamId, name: "Acme", tier: "team" };
const limits = fc.record({
  events_per_month: fc.option(fc.integer({ min: 1 }), { nil: undefined }),
  metadata_keys_max: fc.option(fc.integer({ min: 1 }), { nil: undefined }),
  agents_max: fc.option(fc.integer({ min: 1 }), { nil: undefined }),
  payload_days: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
  record_days: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
});
const rate = fc.record({ sustained: fc.integer({ min: 1 }), burst: fc.integer({ min: 1 }) });
const anyChange: fc.Arbitrary<TeamChange> = fc.record({
  name: fc.option(fc.constantFrom("a", "b"), { nil: undefined }),
  tier: fc.option(fc.constantFrom(...TIER_NAMES), { nil: undefined }),
  owner_email: fc.constantFrom(undefined, null, "a@example.com"),
  rate: fc.oneof(fc.constantFrom(undefined, null), rate),
  limits: fc.oneof(fc.constantFrom(undefined, null), limits),
  suspended: fc.option(fc.boolean(), { nil: undefined }),
});

/** Applies changes to a team, skipping refused ones. */
function after(changes: readonly TeamChange[]): Team {
  return changes.reduce<Team>(
    (team, change, n) => unlessRefused(() => changedTeam(team, change, NOW + n), () => team),
    TEAM,
  );
}

Deno.test("decision 40: only enterprise has its own limits, and payload never outlives its record", () => {
  fc.assert(fc.property(fc.array(anyChange, { maxLength: 6 }), (changes) => {
    const team = after(changes);
    assert(team.limits === undefined || team.tier === "enterprise");
    const { payloadDays, recordDays } = planOfTeam(team);
    if (team.limits?.payloadDays !== undefined) assert(payloadDays <= recordDays);
    if (team.tier !== "enterprise") assertEquals(planOfTeam(team), TIERS[team.tier]);
  }));
});

Deno.test("the difference of two states names exactly the changes", () => {
  const before = teamFields(TEAM);
  assertEquals(differenceOf(before, teamFields({ ...TEAM })), null);
  assertEquals(differenceOf(before, teamFields({ ...TEAM, tier: "free" })), {
    before: { tier: "team" },
    after: { tier: "free" },
  });
});

Deno.test("only 26 base-32 digits name a team", () => {
  assert(isTeamId("0123456789ABCDEFGHJKMNPQRS"));
  for (const text of ["", "0".repeat(25), "0".repeat(27), "I".repeat(26), "o".repeat(26)]) {
    assert(!isTeamId(text), text);
  }
});
