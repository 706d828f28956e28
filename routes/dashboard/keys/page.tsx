/** `/dashboard/keys`: the credentials of a team, or one of them by its id. */
import { ADMIN_PER_PAGE } from "../../../domain/core/limits.ts";
import { type KeyPage, type KeysQuery, parseKeysQuery } from "../../../domain/teams/key_list.ts";
import { encodeCursor, queryOf } from "../../http/query.ts";
import { teamKey } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import type { Handler } from "../../http/admission.ts";
import { keyIdOf, NO_SUCH_KEY } from "../../api/keys/keys.ts";
import { type DashboardPage, get, post } from "../layout/page.ts";
import { agentPath, KEYS_PATH, queryText } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Empty } from "../components/elements.tsx";
import { NextPage } from "../components/list_page.tsx";
import { KeyTable } from "./labels.tsx";
import { backToKey, keyView, readKey, submitRevokeKey, submitRotateKey } from "./key_page.tsx";
import { showNewKey, submitNewKey } from "./new_key.tsx";
import { newKeyPath } from "./paths.ts";

/** Shows a page of the list, or with `id` one credential and the form that `confirm` names. */
const showKeys: Handler = async (c, { credentials, environment }) => {
  const { team, credentialId } = c.get("principal");
  const now = environment.now();
  const { id, confirm } = c.req.query();
  if (id !== undefined) {
    const record = await readKey(credentials, team, id);
    if (record === null) return fail(c, NO_SUCH_KEY);
    const form = confirm === "rotate" || confirm === "revoke" ? confirm : null;
    return showPage(
      c,
      keyView({ record, now, mine: credentialId, confirm: form, problem: null }),
    );
  }
  const query = parseKeysQuery(queryOf(c), keyIdOf);
  if (!query.ok) return fail(c, query.problem);
  const page = await credentials.list(team, query.value);
  const { agent } = query.value;
  return showPage(c, {
    title: "Keys",
    aside: (
      <>
        <a class="btn" href={newKeyPath("ping_token", agent)}>New ping token</a>
        <a class="btn main" href={newKeyPath("api_key")}>New API key</a>
      </>
    ),
    body: <KeyList page={page} query={query.value} now={now} mine={credentialId} />,
  });
};

interface KeyListProps {
  readonly page: KeyPage;
  readonly query: KeysQuery;
  readonly now: number;
  /** Id of the session's own credential. */
  readonly mine: string;
}

function KeyList({ page: { records, next }, query: { agent, limit }, now, mine }: KeyListProps) {
  const nextPath = next === null ? null : KEYS_PATH +
    queryText([
      ["agent", agent],
      ["limit", limit === ADMIN_PER_PAGE.default ? null : limit],
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
        ? (
          <Empty title="No ping token here">
            <p>
              <a href={newKeyPath("ping_token", agent)}>Create one</a>, or go on to the next page if
              there is one.
            </p>
          </Empty>
        )
        : <KeyTable label="Keys" {...{ records, now, mine }} />}
      <NextPage to={nextPath} />
    </>
  );
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
