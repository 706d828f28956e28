/** A list of links to choose from. */

export interface ChoiceLink {
  readonly name: string;
  readonly to: string;
  /** True for the link to the current page. */
  readonly isCurrent?: boolean;
  readonly isButton?: boolean;
}

interface ChoicesProps {
  readonly label: string;
  readonly class?: string;
  readonly links: readonly ChoiceLink[];
}

/** Lists links and marks the current one. */
export function Choices({ label, links, class: name = "choices" }: ChoicesProps) {
  return (
    <nav class={name} aria-label={label}>
      <ul>
        {links.map(({ name, to, isCurrent, isButton }) => (
          <li>
            <a
              href={to}
              {...(isCurrent ? { "aria-current": "true" } : {})}
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
