/** A list of links to choose from: exclusive choices as segments. */

export interface ChoiceLink {
  readonly name: string;
  readonly to: string;
  /** True for the link to the current page. */
  readonly isCurrent?: boolean;
}

/** Lists links and marks the current one. */
export function Choices({ label, links }: {
  readonly label: string;
  readonly links: readonly ChoiceLink[];
}) {
  return (
    <nav class="seg" aria-label={label}>
      {links.map(({ name, to, isCurrent }) => (
        <a href={to} aria-current={isCurrent ? "true" : undefined}>{name}</a>
      ))}
    </nav>
  );
}
