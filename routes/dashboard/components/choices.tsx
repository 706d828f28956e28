/** A list of links to choose from. */

export interface ChoiceLink {
  readonly name: string;
  readonly to: string;
  /** True for the link to the current page. */
  readonly isCurrent?: boolean;
  readonly isButton?: boolean;
}

/** Lists links and marks the current one. */
export function Choices({ label, links, class: name = "choices" }: {
  readonly label: string;
  readonly class?: string;
  readonly links: readonly ChoiceLink[];
}) {
  return (
    <nav class={name} aria-label={label}>
      <ul>
        {links.map(({ name, to, isCurrent, isButton }) => (
          <li>
            <a
              href={to}
              aria-current={isCurrent ? "true" : undefined}
              {...(isButton ? { role: "button", class: "small" } : {})}
            >
              {name}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
