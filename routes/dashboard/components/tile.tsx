/** Large metrics, each with its name and context. */
import type { Child } from "hono/jsx";

export function Tile({ name, value, valueAttributes = {}, children }: {
  readonly name: Child;
  readonly value: Child;
  readonly valueAttributes?: Readonly<Record<string, string>>;
  readonly children?: Child;
}) {
  return (
    <div class="tile">
      {name}
      <b {...valueAttributes}>{value}</b>
      {children}
    </div>
  );
}
