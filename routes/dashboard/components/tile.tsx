/** Large figures, each with its name and what belongs to it. */
import type { Child } from "hono/jsx";

interface TileProps {
  readonly name: Child;
  readonly value: Child;
  readonly valueAttributes?: Readonly<Record<string, string>>;
  readonly children?: Child;
}

/** Shows a figure. */
export function Tile({ name, value, valueAttributes = {}, children }: TileProps) {
  return (
    <div class="tile">
      {name}
      <b {...valueAttributes}>{value}</b>
      {children}
    </div>
  );
}
