/** Lists of configured objects, with links to their forms and buttons that change them. */
import type { Child } from "hono/jsx";
import type { ConfigObject, ObjectKind } from "../../../domain/config/objects.ts";
import { Done } from "../components/elements.tsx";
import { capitalized } from "../components/format.ts";
import { type Column, column, listPage, nameColumn, tableSection } from "../components/table.tsx";
import type { PageHandler, Visit } from "../layout/page.tsx";
import { newPathOf } from "./form.tsx";
import { readAll } from "./known_values.tsx";
import { frameOf, type Named, type ObjectPages, pathOf, VariantLinks } from "./pages.tsx";

/** The list of a kind. */
interface ObjectList<Row> {
  readonly subtitle: Child;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  /** Class of the table. */
  readonly class?: string;
  /** Titles of tables with the rows that they have; absent for one table. */
  readonly parts?: readonly (readonly [title: string, has: (row: Row) => boolean])[];
  /** Shown instead of a table without rows; a block replaces the link to the form. */
  readonly empty: readonly [title: string, advice: Child, block?: Child];
  /** Buttons before the one that leads to the form. */
  readonly buttons?: Child;
}

/** Shows the list of a kind; an admin has a link to the form of a new object. */
export function showList<Settings, Sent, Row = ConfigObject<Settings>>(
  pages: ObjectPages<Settings, Sent>,
  read: (
    objects: readonly ConfigObject<Settings>[],
    visit: Visit,
  ) => ObjectList<Row> | Promise<ObjectList<Row>>,
): PageHandler {
  const { of: { kind }, variants } = pages;
  const title = `${capitalized(kind)}s`;
  return async (visit) => {
    const { c, isAdmin } = visit;
    const list = await read(await readAll(visit, pages.of), visit);
    const { rows, columns, class: name = "fold", parts = [], buttons } = list;
    const link = isAdmin && <a class="btn main" href={newPathOf(pages)}>New {kind}</a>;
    const first = isAdmin && variants !== undefined ? <VariantLinks of={pages} /> : link;
    const [none, advice, block = first] = list.empty;
    const tables = parts.map(([title, has]) => [title, rows.filter(has)] as const)
      .filter(([, rows]) => rows.length > 0);
    const view = listPage({
      title,
      subtitle: list.subtitle,
      aside: rows.length > 0 && [buttons, link],
      notice: <Done c={c} />,
      table: { label: title, class: name, columns, rows },
      empty: [none, advice, block],
    });
    const ofParts = [
      <Done c={c} />,
      tables.map(([title, rows]) => tableSection(title, { columns, rows })),
    ];
    const frame = await frameOf(pages, visit);
    return frame(tables.length === 0 ? view : { ...view, body: ofParts });
  };
}

/** The column that names objects, each with a link to its page; `moreOf` returns what follows it. */
export function slugColumn<Settings, Row = ConfigObject<Settings>>(
  pages: Named & { readonly of: Pick<ObjectKind<Settings, never>, "fieldsOf"> },
  slugOf: (row: Row) => string,
  moreOf: (row: Row) => Child = () => null,
): Column<Row> {
  return nameColumn(capitalized(pages.of.kind), (row) => [
    <a class="row" href={pathOf(pages, slugOf(row))}>{slugOf(row)}</a>,
    moreOf(row),
  ]);
}

/** A column with buttons, which post to the path of an object. */
export function buttonColumn<Row extends { readonly slug: string }>(
  pages: Named,
  buttonOf: (row: Row) => readonly [verb: string, form: string, value?: string],
): Column<Row> {
  return column(<span class="sr">Action</span>, { class: "end-cell" }, (row) => {
    const [verb, form, value] = buttonOf(row);
    return (
      <form class="one" method="post" action={`${pathOf(pages, row.slug)}/${form}`}>
        <button
          type="submit"
          class="btn small"
          name={value === undefined ? undefined : form}
          value={value}
          aria-label={`${verb} ${row.slug}`}
        >
          {verb}
        </button>
      </form>
    );
  });
}

/** A column with buttons that enable and disable objects. */
export function enableColumn<Row extends ConfigObject<{ readonly enabled: boolean }>>(
  pages: Named,
): Column<Row> {
  return buttonColumn(
    pages,
    ({ settings: { enabled } }) => [enabled ? "Disable" : "Enable", "enabled", String(!enabled)],
  );
}
