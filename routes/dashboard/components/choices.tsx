/** Links to choose among. */

/** One of the links. */
export interface ChoiceLink {
  readonly name: string;
  readonly to: string;
  /** Whether it leads to what is shown. */
  readonly isCurrent?: boolean;
  readonly isButton?: boolean;
}

interface ChoicesProps {
  readonly label: string;
  readonly class?: string;
  readonly links: readonly ChoiceLink[];
}

/** Lists links; the chosen one is marked. */
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
