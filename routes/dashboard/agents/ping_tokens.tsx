/** The ping tokens of an agent. */
import type { KeyPage } from "../../../domain/teams/key_list.ts";
import { KEYS_PATH, queryText } from "../layout/paths.ts";
import { KeyTable } from "../keys/labels.tsx";
import { newKeyPath } from "../keys/paths.ts";

interface PingTokensProps {
  readonly agent: string;
  /** Null without the scope `admin`. */
  readonly page: KeyPage | null;
  readonly now: number;
}

/** Lists the ping tokens, with a link that creates another. */
export function PingTokens({ agent, page, now }: PingTokensProps) {
  return (
    <>
      <h2>Ping tokens</h2>
      <p class="soft">
        A ping token lets a cron job report its result with one line of curl, and nothing else.
        {page === null
          ? (
            <>
              {" "}Seeing them takes a key with the scope <code>admin</code>.
            </>
          )
          : null}
      </p>
      {page === null || page.records.length === 0
        ? null
        : <KeyTable label="Ping tokens" records={page.records} now={now} />}
      {page === null ? null : (
        <p class="actions">
          <a role="button" class="small" href={newKeyPath("ping_token", agent)}>New ping token</a>
          {page.next === null
            ? null
            : <a href={KEYS_PATH + queryText([["agent", agent]])}>All its ping tokens</a>}
        </p>
      )}
    </>
  );
}
