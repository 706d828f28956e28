/** Lists of names with their values. */
import type { Child } from "hono/jsx";

/** A name and its value. */
export type KeyValue = readonly [name: string, value: Child];

interface Pairs {
  readonly pairs: readonly KeyValue[];
}

/** Lists names with their values, a line each. */
export function KeyValues({ pairs }: Pairs) {
  return (
    <dl class="pairs">
      {pairs.map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  );
}

/** Lists names with their values side by side; names without a value are left out. */
export function LabelList({ pairs }: Pairs) {
  return (
    <dl class="labels">
      {pairs.filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
