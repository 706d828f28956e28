/** Large metrics, each with its name and context. */
import type { Child } from "hono/jsx";

export interface TileProps {
  readonly name: Child;
  readonly value: Child;
  readonly valueAttributes?: Readonly<Record<string, string>>;
  readonly children?: Child;
}

export function Tile({ name, value, valueAttributes, children }: TileProps) {
  return (
    <div class="tile">
      {name}
      <b {...valueAttributes}>{value}</b>
      {children}
    </div>
  );
}
