/** Filters of a list: the script applies each as soon as it is chosen, else a button does. */
import type { PropsWithChildren } from "hono/jsx";

interface FilterFormProps {
  /** Path of the list. */
  readonly action: string;
}

export function FilterForm({ action, children }: PropsWithChildren<FilterFormProps>) {
  return (
    <form class="filters" method="get" action={action} aria-label="Filters" data-filters>
      {children}
      <noscript>
        <button type="submit" class="btn">Apply</button>
      </noscript>
    </form>
  );
}
