/** Lists of name-value pairs. */
import type { Child } from "hono/jsx";

export type KeyValue = readonly [name: string, value: Child];

/** Lists name-value pairs, one per line. */
export function KeyValues({ pairs }: { readonly pairs: readonly KeyValue[] }) {
  return (
    <dl class="kv">
      {pairs.map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  );
}

/** Lists name-value pairs side by side; omits pairs without a value. */
export function LabelList({ pairs }: { readonly pairs: readonly KeyValue[] }) {
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
