/** The search of every page: the form, and its dialog with results as one types. */
import { Icon } from "../components/icons.tsx";
import { SEARCH_PATH } from "./paths.ts";

/** Maximum characters of a search. */
export const SEARCH_CHARS_MAX = 200;

interface SearchFieldProps {
  /** Unique on the page. */
  readonly id: string;
  readonly value?: string;
}

export function SearchField({ id, value = "" }: SearchFieldProps) {
  return (
    <div class="field">
      <Icon name="search" />
      <input
        type="text"
        name="q"
        id={id}
        value={value}
        maxlength={SEARCH_CHARS_MAX}
        aria-label="Search runs, agents, customers and pages"
        placeholder="Run, goal, error, agent, customer or page"
        autocomplete="off"
        spellcheck={false}
        autofocus
      />
    </div>
  );
}

/** The dialog of ⌘K and Ctrl+K. Without scripts the link to the search page is used instead. */
export function SearchDialog() {
  return (
    <dialog id="jump" aria-label="Search">
      <form method="get" action={SEARCH_PATH} role="search">
        <SearchField id="jump-q" />
      </form>
      <div id="jump-found" class="found" aria-live="polite" />
    </dialog>
  );
}
