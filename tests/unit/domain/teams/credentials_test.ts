import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  agentRefusalOf,
  developmentKey,
  type Grant,
  isTeamKey,
  parseSecret,
  type Principal,
} from "../../../../domain/teams/credentials.ts";
import type { TeamId } from "../../../../domain/core/ids.ts";
import { problemOf } from "../../../support/oracles/problems.ts";
import { anyText } from "../../../support/builders/any_text.ts";

const HEX = "0123456789abcdef".repeat(2);

function principal(grant: Grant): Principal {
  return {
    credentialId: "key_eu_1",
    team: { id: "t" as TeamId, name: "team", tier: "free" },
    grant,
  };
}

Deno.test("decision 2: each kind of secret of this region is recognized", () => {
  for (const kind of ["apk", "ping", "opk"]) {
    const secret = `${kind}_eu_${HEX}`;
    assertEquals(parseSecret(secret, "eu"), secret);
  }
});

Deno.test("decision 3: no refusal repeats the secret", () => {
  const secret = anyText({ minLength: 8 });
  fc.assert(fc.property(fc.oneof(secret, fc.constant(`apk_us_${HEX}`)), (text) => {
    const problem = problemOf(() => parseSecret(text, "eu"));
    assert(problem !== null && !problem.message.includes(text));
  }));
});

Deno.test("a refused agent's name cannot break the line of the message or make it long", () => {
  const token = principal({ kind: "ping_token", agent: "a" });
  const message = agentRefusalOf(token, `b\n\u0000${"x".repeat(10_000)}`)?.message ?? "";
  assert(!/\p{Cc}/u.test(message) && message.length < 400, message);
});

Deno.test("the development key is a team key of its own region only", () => {
  assert(isTeamKey(developmentKey("eu"), "eu") && isTeamKey(developmentKey("us"), "us"));
  assert(!isTeamKey(developmentKey("eu"), "us"));
  assert(!isTeamKey(`ping_eu_${HEX}`, "eu") && !isTeamKey(`apk_eu_${HEX}0`, "eu"));
});
