/** A table of credentials. */
import type { ListedCredential } from "../../../domain/teams/key_list.ts";
import { Ago } from "../components/elements.tsx";
import { type Column, Table } from "../components/table.tsx";
import { keyPath } from "./paths.ts";
import { KeyActions, KeyGrant, KeyState, LastUse } from "./labels.tsx";

interface KeyTableProps {
  readonly label: string;
  readonly caption?: string;
  readonly records: readonly ListedCredential[];
  readonly now: number;
  /** Id of the session's own credential, which is marked. */
  readonly mine?: string;
  /** True to include the column of grants. */
  readonly withGrant?: boolean;
}

export function KeyTable({ label, caption, records, now, mine, withGrant }: KeyTableProps) {
  const columns: readonly Column<ListedCredential>[] = [
    { head: "Name", isName: true, cell: (of) => <KeyName of={of} isMine={of.id === mine} /> },
    ...(withGrant ? [GRANT] : []),
    { head: "State", cell: (of) => <KeyState of={of} now={now} /> },
    { head: "Created", before: "made", cell: ({ createdAt }) => <Ago at={createdAt} now={now} /> },
    { head: "Last used", before: "used", cell: (of) => <LastUse of={of} now={now} /> },
    { head: "Change", cell: (of) => <KeyActions of={of} now={now} /> },
  ];
  return (
    <Table
      label={label}
      class="roomy folding"
      caption={caption === undefined ? null : <caption>{caption}</caption>}
      columns={columns}
      rows={records}
    />
  );
}

const GRANT: Column<ListedCredential> = { head: "Allows", cell: (of) => <KeyGrant of={of} /> };

function KeyName({ of, isMine }: { readonly of: ListedCredential; readonly isMine: boolean }) {
  return (
    <>
      <a href={keyPath(of.id)}>{of.name}</a>
      {isMine ? <small class="tag">you are signed in with it</small> : null}
    </>
  );
}
