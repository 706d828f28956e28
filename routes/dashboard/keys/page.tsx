/** `/dashboard/keys`: the credentials of a team, and the form for a new one. */
import type { Problem } from "../../../domain/core/errors.ts";
import { AGENT_CHARS_MAX, KEY_NAME_CHARS_MAX } from "../../../domain/core/limits.ts";
import { parseKey, parseKeysQuery } from "../../../domain/teams/key_list.ts";
import { encodeCursor, queryOf } from "../../http/query.ts";
import { teamKey } from "../../http/access.ts";
import { keyIdOf } from "../../api/keys/keys.ts";
import { type DashboardPage, get, type PageHandler, post, type View } from "../layout/page.tsx";
import { agentPath, KEYS_PATH, newKeyPath } from "../layout/paths.ts";
import { Crumbs } from "../components/elements.tsx";
import { bodyOf, formOf, FormProblem } from "../components/form_fields.tsx";
import { listPage, nextPath } from "../components/table.tsx";
import { KnownLists, readKnownAgents } from "../objects/known_values.tsx";
import { keyColumns, kindLabel, scopeBoxes } from "./labels.tsx";
import { backToKey, showKey, showSecret, submitRevokeKey, submitRotateKey } from "./key_page.tsx";

/** Shows a page of the list, or with `id` one credential. */
const showKeys: PageHandler = async (visit) => {
  const { c, deps, team, credentialId } = visit;
  if (c.req.query("id") !== undefined) return showKey(visit);
  const query = parseKeysQuery(queryOf(c), keyIdOf);
  const { records, next } = await deps.credentials.list(team, query);
  const { agent } = query;
  const limit = c.req.query("limit") ?? null;
  const advice = [
    <a href={newKeyPath("ping_token", agent)}>Create one</a>,
    ", or see the next page.",
  ];
  return listPage({
    title: "Keys",
    aside: [
      <a class="btn" href={newKeyPath("ping_token", agent)}>New ping token</a>,
      <a class="btn main" href={newKeyPath("api_key")}>New API key</a>,
    ],
    notice: agent === null
      ? (
        <p class="soft">
          An <b>API key</b> is for programs that send runs and people who view them. A{" "}
          <b>ping token</b>{" "}
          speaks for one agent alone, such as a cron job. Secrets are shown once, when they are
          created.
        </p>
      )
      : (
        <p>
          Ping tokens of <a href={agentPath(agent)}>{agent}</a> · <a href={KEYS_PATH}>all keys</a>
        </p>
      ),
    table: {
      label: "Keys",
      class: "fold",
      caption: "Oldest first.",
      columns: keyColumns(deps.environment.now(), credentialId),
      rows: records,
    },
    empty: ["No ping token here", advice],
    next: nextPath(KEYS_PATH, { agent, limit }, next && encodeCursor(next)),
  });
};

const showNewKey: PageHandler = async (visit) => {
  const { kind, agent = "" } = visit.c.req.query();
  const agents = await readKnownAgents(visit);
  return newKeyView(agents, kind, { agent }, ["ingest"], null);
};

/** Creates a credential and shows its secret, or the form again. */
const submitNewKey: PageHandler = async ({ c, deps, team, credentialId, onProblem }) => {
  const form = c.get("form");
  const texts = { name: form.get("name") ?? "", agent: form.get("agent") ?? "" };
  const scopes = form.getAll("scopes");
  const kind = form.get("kind") === "ping_token" ? "ping_token" : "api_key";
  const agents = await readKnownAgents({ deps, team });
  onProblem((problem) => newKeyView(agents, kind, texts, scopes, problem));
  const spec = parseKey(bodyOf({ kind, ...texts, scopes }));
  const created = await deps.credentials.create(team, spec, credentialId);
  return showSecret(c, created, { title: `${kindLabel(created.record)} created` });
};

function newKeyView(
  agents: readonly string[],
  kind: string | undefined,
  texts: { readonly name?: string; readonly agent: string },
  scopes: readonly string[],
  problem: Problem | null,
): View {
  const isToken = kind === "ping_token";
  const { text } = formOf(texts, problem);
  return {
    title: isToken ? "New ping token" : "New API key",
    crumbs: <Crumbs links={[["Keys", KEYS_PATH]]} />,
    body: (
      <form class="narrow" method="post" action={KEYS_PATH}>
        <FormProblem problem={problem} fields={["name", isToken ? "agent" : "scopes"]} />
        {isToken && <KnownLists known={{ agents }} />}
        <input type="hidden" name="kind" value={isToken ? "ping_token" : "api_key"} />
        {text("name", "Name", {
          required: true,
          maxlength: KEY_NAME_CHARS_MAX,
          placeholder: isToken ? "backup host" : "production worker",
          hint: "Where it is used, so that you know later what stops when you revoke it.",
        })}
        {isToken
          ? text("agent", "Agent", {
            required: true,
            list: "known-agents",
            maxlength: AGENT_CHARS_MAX,
            placeholder: "nightly",
            hint: "The one agent that it can send pings and heartbeats for; the first of them " +
              "creates a new agent.",
          })
          : scopeBoxes(scopes, problem)}
        <button type="submit" class="btn main">
          {isToken ? "Create ping token" : "Create key"}
        </button>
        <p class="soft">
          {isToken ? "For programs or people: " : "For one cron job: "}
          <a href={newKeyPath(isToken ? "api_key" : "ping_token")}>
            {isToken ? "an API key" : "a ping token"}
          </a>.
        </p>
      </form>
    ),
  };
}

/** The list of credentials, the page of each, and the forms that change them. */
export const keysPage: DashboardPage = {
  path: KEYS_PATH,
  menu: { name: "Keys", area: "settings" },
  access: teamKey("admin"),
  handler: showKeys,
  routes: [
    post(KEYS_PATH, submitNewKey),
    get(`${KEYS_PATH}/new`, showNewKey),
    post(`${KEYS_PATH}/:id/rotate`, submitRotateKey),
    get(`${KEYS_PATH}/:id/rotate`, backToKey),
    post(`${KEYS_PATH}/:id/revoke`, submitRevokeKey),
  ],
};
