/** The way to a page below a list. */

/** Links to the pages above, from the top. */
export function Crumbs({ links }: { readonly links: readonly (readonly [string, string])[] }) {
  return (
    <nav class="crumbs" aria-label="Breadcrumb">
      <ol>
        {links.map(([name, to]) => (
          <li>
            <a href={to}>{name}</a>
          </li>
        ))}
      </ol>
    </nav>
  );
}
