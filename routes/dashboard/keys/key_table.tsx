/** Credentials as a table. */
import type { ListedCredential } from "../../../domain/teams/key_list.ts";
import { Ago, Wide } from "../components/elements.tsx";
import { keyPath } from "./paths.ts";
import { KeyActions, LastUse, May, State } from "./labels.tsx";

interface Table {
  readonly label: string;
  /** What stands above it. */
  readonly caption?: string;
  readonly records: readonly ListedCredential[];
  readonly now: number;
  /** The credential of this session, to be marked. */
  readonly mine?: string;
  /** Whether what each may do is a column. */
  readonly withGrant?: boolean;
}

/** A table of them. */
export function KeyTable({ label, caption, records, now, mine, withGrant = false }: Table) {
  return (
    <Wide label={label}>
      <table class="roomy folding">
        {caption === undefined ? null : <caption>{caption}</caption>}
        <thead>
          <tr>
            <th scope="col">Name</th>
            {withGrant ? <th scope="col">Allows</th> : null}
            <th scope="col">State</th>
            <th scope="col">Created</th>
            <th scope="col">Last used</th>
            <th scope="col">Change</th>
          </tr>
        </thead>
        <tbody>
          {records.map((of) => <Row {...{ of, now, withGrant }} isMine={of.id === mine} />)}
        </tbody>
      </table>
    </Wide>
  );
}

interface RowOf extends Required<Pick<Table, "now" | "withGrant">> {
  readonly of: ListedCredential;
  readonly isMine: boolean;
}

function Row({ of, now, withGrant, isMine }: RowOf) {
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
      <td data-before="made">
        <Ago at={of.createdAt} now={now} />
      </td>
      <td data-before="used">
        <LastUse of={of} now={now} />
      </td>
      <td>
        <KeyActions of={of} now={now} />
      </td>
    </tr>
  );
}
