/** Filters of a list: each applies as soon as it is chosen, also without a script by a button. */
import type { PropsWithChildren } from "hono/jsx";

interface FilterFormProps {
  /** Path of the list. */
  readonly action: string;
}

export function FilterForm({ action, children }: PropsWithChildren<FilterFormProps>) {
  return (
    <form
      class="filters"
      method="get"
      action={action}
      aria-label="Filters"
      hx-get={action}
      hx-trigger="change, submit"
      hx-sync="this:replace"
      hx-target="main"
      hx-select="main"
      hx-swap="outerHTML"
      hx-push-url="true"
    >
      {children}
      <noscript>
        <button type="submit" class="btn">Apply</button>
      </noscript>
    </form>
  );
}
