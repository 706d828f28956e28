/** Credentials as rows of tables. */
import type { ListedCredential } from "../../../domain/teams/key_list.ts";
import { Ago } from "../parts/basics.tsx";
import { keyPath } from "./paths.ts";
import { KeyActions, LastUse, May, State } from "./words.tsx";

interface Row {
  readonly of: ListedCredential;
  readonly now: number;
  /** Whether this session goes by it. */
  readonly isMine?: boolean;
  /** Whether what it may do is a column. */
  readonly withGrant?: boolean;
}

/** One credential. */
export function KeyRow({ of, now, isMine = false, withGrant = false }: Row) {
  return (
    <tr>
      <th scope="row">
        <a href={keyPath(of.id)}>{of.name}</a>
        {isMine ? <small class="tag">you are signed in with it</small> : null}
      </th>
      {withGrant
        ? (
          <td>
            <May of={of} />
          </td>
        )
        : null}
      <td>
        <State of={of} now={now} />
      </td>
      <td>
        <Ago at={of.createdAt} now={now} />
      </td>
      <td>
        <LastUse of={of} now={now} />
      </td>
      <td>
        <KeyActions of={of} now={now} />
      </td>
    </tr>
  );
}
