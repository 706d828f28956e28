/** Team pages: the session's own team, and all teams for the operator. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { secretIn, signedIn, textOf, walk } from "../support/harness/dashboard.ts";
import type { Harness } from "../support/harness/harness.ts";
import { aTeam, operate, operator, OPERATOR_KEY } from "../support/harness/operator.ts";

const TEAMS = "/dashboard/teams";

/** Returns a team as the API shows it to the operator. */
async function teamOf(h: Harness, id: string) {
  return (await operate(h, "GET", `/v1/teams/${id}`)).json;
}

/** Fields of the change form as filled in for a team. */
const FILLED = {
  name: "Acme",
  tier: "team",
  owner_email: "",
  sustained: "",
  burst: "",
  events_per_month: "",
  agents_max: "",
  metadata_keys_max: "",
  payload_days: "",
  record_days: "",
};

operator.test("the operator sees only teams and the audit log, and no data of teams", async (h) => {
  const operator = await signedIn(h, OPERATOR_KEY);
  const { text } = await operator.get(TEAMS);
  const menus = [...text.matchAll(/<nav[\s\S]*?<\/nav>/g)].map(([menu]) => textOf(menu));
  const menuNames = menus.flatMap((menu) => menu.split(" "));
  assertEquals(menuNames, ["Settings", "Teams", "Audit"]);
  for (const path of ["agents", "agents/a", "keys", "plan"]) {
    assertEquals((await operator.get(`/dashboard/${path}`)).status, 403, path);
  }
  const team = await signedIn(h);
  for (const path of [TEAMS, `${TEAMS}/new`, `${TEAMS}/${h.team.id}`]) {
    assertEquals((await team.get(path)).status, 403, path);
  }
});

operator.test("a team created by the form is listed, and its first key is shown once", async (h) => {
  const operator = await signedIn(h, OPERATOR_KEY);
  const fields = { name: "Acme & <Sons>", tier: "starter", owner_email: "a@acme.test" };
  const created = await operator.send(TEAMS, fields);
  assertEquals(created.status, 201);
  const key = secretIn(created.text);
  assertEquals((await h.get("/v1/keys", { key })).status, 200);
  const list = await operator.get(TEAMS);
  assertMatch(list.text, />Acme &amp; &lt;Sons&gt;</);
  assertMatch(textOf(list.text), /Acme & <Sons> starter active a@acme\.test/);
  assert(!list.text.includes(key));
});

operator.test("the form changes plan, owner, rate and limits as the API does, and logs the difference", async (h) => {
  const { id } = await aTeam(h, { owner_email: "a@acme.test" });
  const operator = await signedIn(h, OPERATOR_KEY);
  const path = `${TEAMS}/${id}`;
  const own = {
    tier: "enterprise",
    sustained: "10",
    burst: "20",
    agents_max: "7",
    payload_days: "8",
    record_days: "9",
  };
  h.nowMs++;
  assertEquals((await operator.send(path, { ...FILLED, ...own })).status, 303);
  const changed = await teamOf(h, id);
  assertEquals([changed.tier, changed.owner_email, changed.rate], [
    "enterprise",
    null,
    { sustained: 10, burst: 20 },
  ]);
  assertEquals([changed.limits.agents_max, changed.limits.record_days], [7, 9]);
  assertMatch(await operator.words("/dashboard/audit"), /tier: team → enterprise/);
  const downgrade = { ...FILLED, agents_max: "7", payload_days: "8", record_days: "9" };
  assertEquals((await operator.send(path, downgrade)).status, 303, "leaving the plan is one step");
  const { tier, rate, limits } = await teamOf(h, id);
  assertEquals([tier, rate, limits], ["team", null, null]);
});

operator.test("invalid team changes are shown as typed, and nothing is stored", async (h) => {
  const { id } = await aTeam(h);
  const operator = await signedIn(h, OPERATOR_KEY);
  const before = await h.dump();
  const cases: [Record<string, string>, RegExp][] = [
    [{ agents_max: "5" }, /"limits" can be set only on plan enterprise/],
    [{ tier: "enterprise", payload_days: "9", record_days: "3" }, /"payload_days" must be at most/],
    [{ sustained: "5" }, /"rate\.burst" must be a whole number/],
    [{ sustained: "5", burst: "many" }, /"rate\.burst" must be a whole number/],
    [{ name: " " }, /"name" must be/],
    [{ owner_email: "x" }, /"owner_email" must be an e-mail address/],
  ];
  for (const [fields, message] of cases) {
    const { status, text } = await operator.send(`${TEAMS}/${id}`, { ...FILLED, ...fields });
    assertEquals(status, 400, JSON.stringify(fields));
    assertMatch(textOf(text), message);
    for (const value of Object.values(fields)) assert(text.includes(`"${value.trim()}"`), value);
  }
  assertEquals(await h.dump(), before);
});

operator.test("suspending asks for confirmation, and refuses the team's calls and pages until it is resumed", async (h) => {
  const { id, key } = await aTeam(h);
  const [operator, reader] = [await signedIn(h, OPERATOR_KEY), await signedIn(h, key.secret)];
  const confirmation = await operator.get(`${TEAMS}/${id}?confirm=suspend`);
  assertMatch(confirmation.text, new RegExp(`action="${TEAMS}/${id}/suspend"`));
  assert(!(await operator.get(`${TEAMS}/${id}?confirm=resume`)).text.includes(`${id}/resume"`));
  const statuses = async () => [
    (await h.get("/v1/runs", { key: key.secret })).status,
    (await reader.get("/dashboard/plan")).status,
  ];
  assertEquals(await statuses(), [200, 200], "the confirmation page changes nothing");
  assertEquals((await operator.send(`${TEAMS}/${id}/suspend`)).status, 303);
  assertEquals(await statuses(), [403, 403]);
  assertMatch(await operator.words(`${TEAMS}/${id}`), /suspended just now/);
  assertEquals((await operator.send(`${TEAMS}/${id}/resume`)).status, 303);
  assertEquals(await statuses(), [200, 200]);
  const stranger = await signedIn(h);
  assertEquals((await stranger.send(`${TEAMS}/${id}/suspend`)).status, 403);
  assertEquals(await statuses(), [200, 200]);
});

operator.test("the operator creates a key for a team by the form", async (h) => {
  const { id } = await aTeam(h);
  const operator = await signedIn(h, OPERATOR_KEY);
  const created = await operator.send(`${TEAMS}/${id}/keys`, { key_name: "spare", scopes: "read" });
  assertEquals(created.status, 201);
  const key = secretIn(created.text);
  assertEquals((await h.get("/v1/runs", { key })).status, 200);
  assertEquals((await h.get("/v1/keys", { key })).status, 403);
  const refused = await operator.send(`${TEAMS}/${id}/keys`, { key_name: "", scopes: "read" });
  assertEquals(refused.status, 400);
  assertMatch(refused.text, /id="key_name-problem"/);
});

operator.test("unknown team ids are not found, and the list is paged", async (h) => {
  for (let n = 0; n < 4; n++) await aTeam(h, { name: `Team ${n}` });
  const operator = await signedIn(h, OPERATOR_KEY);
  for (const id of ["x", "0".repeat(26), "%00"]) {
    assertEquals((await operator.get(`${TEAMS}/${id}`)).status, 404, id);
    assertEquals((await operator.send(`${TEAMS}/${id}/suspend`)).status, 404, id);
    assertEquals((await operator.send(`${TEAMS}/${id}/keys`, { key_name: "a" })).status, 404, id);
  }
  const names = (await walk(operator, `${TEAMS}?limit=2`)).flatMap((html) =>
    [...html.matchAll(/<th scope="row"><a[^>]*>([^<]*)</g)].map(([, name = ""]) => name)
  );
  assertEquals(names.toSorted(), ["Team 0", "Team 1", "Team 2", "Team 3", h.team.name].toSorted());
});
