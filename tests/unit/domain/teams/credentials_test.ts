import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import {
  agentRefusalOf,
  developmentKey,
  type Grant,
  INVALID_CREDENTIAL,
  isTeamKey,
  parseSecret,
  type Principal,
  refusalOf,
  SCOPES,
} from "../../../../domain/teams/credentials.ts";
import type { TeamId } from "../../../../domain/core/ids.ts";

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
    assertEquals(parseSecret(secret, "eu"), { ok: true, value: secret });
  }
});

Deno.test("decision 1: absent and malformed credentials get the same refusal", () => {
  const malformed = [
    null,
    "",
    "secret",
    `apk_eu_${HEX}0`,
    `apk_eu_${HEX.slice(1)}`,
    `apk_eu_${HEX.toUpperCase()}`,
    `APK_eu_${HEX}`,
    `run_eu_${HEX}`,
    ` apk_eu_${HEX}`,
    `apk_eu_${HEX}\n`,
    // The form is checked before the region.
    `apk_us_${HEX}x`,
  ];
  for (const text of malformed) {
    const parsed = parseSecret(text, "eu");
    assert(!parsed.ok && parsed.problem === INVALID_CREDENTIAL, String(text));
  }
});

Deno.test("decision 1: another region is recognized from the text, before any read", () => {
  for (const [region, says] of [["us", "send it to the us"], ["zz", "use a key of this"]]) {
    const parsed = parseSecret(`apk_${region}_${HEX}`, "eu");
    assert(!parsed.ok);
    assertEquals(parsed.problem.code, "region_mismatch");
    assertStringIncludes(parsed.problem.message, says ?? "");
  }
});

Deno.test("decision 3: no refusal repeats the secret", () => {
  const secret = fc.string({ unit: "binary", minLength: 8 });
  fc.assert(fc.property(fc.oneof(secret, fc.constant(`apk_us_${HEX}`)), (text) => {
    const parsed = parseSecret(text, "eu");
    assert(!parsed.ok && !parsed.problem.message.includes(text));
  }));
});

Deno.test("decision 2: a key may do exactly what its scopes allow", () => {
  for (const has of SCOPES) {
    for (const scope of SCOPES) {
      const key = principal({ kind: "api_key", scopes: [has] });
      const refused = refusalOf(key, { scope, pingTokens: true, operator: false });
      assertEquals(refused?.code, has === scope ? undefined : "forbidden");
    }
  }
});

Deno.test("decision 2: a ping token may make only the calls of ping tokens", () => {
  const token = principal({ kind: "ping_token", agent: "a" });
  for (const scope of SCOPES) {
    assertEquals(refusalOf(token, { scope, pingTokens: true, operator: false }), null);
    assertEquals(
      refusalOf(token, { scope, pingTokens: false, operator: false })?.code,
      "scope_violation",
    );
  }
});

Deno.test("decision 1: a ping token reports for its own agent, a key for any agent", () => {
  const token = principal({ kind: "ping_token", agent: "a" });
  const code = (agent: unknown) => agentRefusalOf(token, agent)?.code ?? null;
  assertEquals(["a", "b", "A", "a ", undefined, 7].map(code), [
    null,
    "scope_violation",
    "scope_violation",
    "scope_violation",
    null,
    null,
  ]);
  const key = principal({ kind: "api_key", scopes: ["ingest"] });
  assertEquals(agentRefusalOf(key, "b"), null);
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
