/** `/dashboard/keys`: the credentials of a team, or one of them by its id. */
import { type KeyPage, type KeysQuery, parseKeysQuery } from "../../../domain/teams/key_list.ts";
import { encodeCursor } from "../../http/cursor.ts";
import { teamKey } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { isKeyId, keyIdOf, NO_SUCH_KEY } from "../../api/keys/keys.ts";
import { queryOf } from "../../http/query.ts";
import { type DashboardPage, get, post } from "../layout/page.ts";
import { agentPath, KEYS_PATH, queryText } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Empty, NextPage } from "../components/elements.tsx";
import { KeyTable } from "./key_table.tsx";
import { showKey } from "./key_page.tsx";
import { showNewKey } from "./form.tsx";
import { newKeyPath } from "./paths.ts";
import { backToKey, submitNewKey, submitRevokeKey, submitRotateKey } from "./submit.tsx";

/** The list of credentials, the page of each, and the forms that change them. */
export const keysPage: DashboardPage = {
  path: KEYS_PATH,
  menu: "Keys",
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

/** Shows a page of the list, or with `id` one credential and the form that `confirm` names. */
function showKeys({ credentials, environment }: AppDeps): Handle {
  return async (c) => {
    const { team, credentialId } = c.get("principal");
    const now = environment.now();
    const { id, confirm } = c.req.query();
    if (id !== undefined) {
      const record = isKeyId(id) ? await credentials.read(team, id) : null;
      if (record === null) return fail(c, NO_SUCH_KEY);
      const form = confirm === "rotate" || confirm === "revoke" ? confirm : null;
      return showKey(c, { record, now, confirm: form, problem: null });
    }
    const query = parseKeysQuery(queryOf(c), keyIdOf);
    if (!query.ok) return fail(c, query.problem);
    const page = await credentials.list(team, query.value);
    const { agent } = query.value;
    return showPage(c, {
      title: "Keys",
      aside: <NewKeys agent={agent} />,
      body: <KeyList page={page} query={query.value} now={now} mine={credentialId} />,
    });
  };
}

function NewKeys({ agent }: { readonly agent: string | null }) {
  return (
    <span class="actions">
      <a role="button" class="small" href={newKeyPath("api_key")}>New API key</a>
      <a role="button" class="small outline" href={newKeyPath("ping_token", agent)}>
        New ping token
      </a>
    </span>
  );
}

interface KeyListProps {
  readonly page: KeyPage;
  readonly query: KeysQuery;
  readonly now: number;
  /** Id of the session's own credential. */
  readonly mine: string;
}

function KeyList(
  { page: { records, next }, query: { agent, limit, sent }, now, mine }: KeyListProps,
) {
  const nextPath = next === null ? null : KEYS_PATH +
    queryText([
      ["agent", agent],
      ["limit", sent.has("limit") ? limit : null],
      ["cursor", encodeCursor(next)],
    ]);
  return (
    <>
      {agent === null
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
        )}
      {records.length === 0
        ? <NoKeys agent={agent} />
        : <KeyTable label="Keys" caption="Oldest first." {...{ records, now, mine }} withGrant />}
      <NextPage to={nextPath} />
    </>
  );
}

function NoKeys({ agent }: { readonly agent: string | null }) {
  return (
    <Empty title="No ping token here">
      <p>
        <a href={newKeyPath("ping_token", agent)}>Create one</a>, or go on to the next page if there
        is one.
      </p>
    </Empty>
  );
}
