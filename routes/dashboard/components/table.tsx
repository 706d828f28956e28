/** Tables described by columns and rows, and pages that list things with one. */
import type { Child, PropsWithChildren } from "hono/jsx";
import type { RequestContext } from "../../http/context.ts";
import type { View } from "../layout/page.tsx";
import { queryText } from "../layout/paths.ts";
import { Empty, Section, Wide } from "./elements.tsx";
import { formatCount, pluralOf } from "./format.ts";

export interface Column<Row> {
  readonly head: Child;
  readonly cell: (row: Row) => Child;
  /** True if its cells name their rows. */
  readonly isName?: boolean;
  /** Class of its cells; the header of a number column has it too. */
  readonly class?: string;
  /** Class of its header, if that differs. */
  readonly headClass?: string;
  /** Labels before and after a cell when the table has no header: on a phone. */
  readonly before?: string;
  readonly unit?: string | ((row: Row) => string) | undefined;
  /** Additional attributes of a cell. */
  readonly attributes?: (row: Row) => Readonly<Record<string, string>>;
}

/** The cell of a value that there is not; a folded row leaves it out. */
export const NONE = "–";

/** A column that says more about its cells than its head. */
export function column<Row>(
  head: Child,
  more: Omit<Column<Row>, "head" | "cell">,
  cell: Column<Row>["cell"],
): Column<Row> {
  return { head, ...more, cell };
}

/** A column whose cells name their rows. */
export function nameColumn<Row>(head: Child, cell: (row: Row) => Child): Column<Row> {
  return { head, isName: true, cell };
}

type Unit<Row> = Column<Row>["unit"];

/** A number column; `unit` names what a cell counts. */
export function numberColumn<Row>(head: Child, cell: (row: Row) => Child, unit?: Unit<Row>) {
  return { head, cell, class: "num", unit };
}

export function countColumn<Row>(head: Child, countOf: (row: Row) => number, noun: string) {
  const unit = (row: Row) => pluralOf(countOf(row), noun);
  return numberColumn(head, (row: Row) => formatCount(countOf(row)), unit);
}

export interface TableProps<Row> {
  /** Name of the table for screen readers. */
  readonly label: string;
  readonly class?: string;
  /** A text, or a caption element with a class of its own. */
  readonly caption?: Child;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Footer of the table. */
  readonly children?: Child;
}

/** Shows rows as a table that scrolls, also by keyboard, when it is wider than the screen. */
export function Table<Row>(table: TableProps<Row>) {
  const { label, caption, columns, rows, class: name, children } = table;
  return (
    <Wide label={label}>
      <table class={name === undefined ? "list" : `list ${name}`}>
        {typeof caption === "string" ? <caption class="soft">{caption}</caption> : caption}
        <TableHead columns={columns} />
        <tbody>{rows.map((row) => <TableRow columns={columns} row={row} />)}</tbody>
        {children}
      </table>
    </Wide>
  );
}

interface TableSection<Row> extends Omit<TableProps<Row>, "label"> {
  /** Shown at the right of the heading. */
  readonly aside?: Child;
  readonly above?: Child;
  /** Shown instead of a table without rows. */
  readonly none?: Child;
}

/** A panel with a table that has the same name. */
export function tableSection<Row>(title: string, section: TableSection<Row>) {
  const { aside, above, none, ...table } = section;
  return (
    <Section title={title} aside={aside}>
      {above}
      {table.rows.length === 0 ? none : Table({ class: "fold", ...table, label: title })}
    </Section>
  );
}

/** The header row. */
export function TableHead<Row>({ columns }: Pick<TableProps<Row>, "columns">) {
  return (
    <thead>
      <tr>
        {columns.map(({ head, headClass, class: name }) => (
          <th scope="col" class={headClass ?? (name?.startsWith("num") ? "num" : undefined)}>
            {head}
          </th>
        ))}
      </tr>
    </thead>
  );
}

export function TableRow<Row>({ columns, row, class: name }: {
  readonly columns: readonly Column<Row>[];
  readonly row: Row;
  readonly class?: string | undefined;
}) {
  return (
    <tr class={name}>
      {columns.map(({ isName, class: name, before, unit, attributes, cell }) => {
        const Cell = isName ? "th" : "td";
        const content = cell(row);
        const classes = content === NONE ? [name, "none"].filter(Boolean).join(" ") : name;
        return (
          <Cell
            scope={isName ? "row" : undefined}
            class={classes}
            data-before={before}
            data-unit={typeof unit === "function" ? unit(row) : unit}
            {...attributes?.(row)}
          >
            {content}
          </Cell>
        );
      })}
    </tr>
  );
}

interface ListPage<Row> extends Pick<View, "title" | "subtitle" | "aside" | "crumbs"> {
  /** Shown above the filters: a notice or an explanation. */
  readonly notice?: Child;
  /** The form that narrows the list. */
  readonly filters?: Child;
  readonly table: TableProps<Row>;
  /** Shown instead of a table without rows: a title, what to do about it, and a block below. */
  readonly empty: readonly [title: string, advice: Child, block?: Child];
  /** Path of the next page; null on the last one. */
  readonly next?: string | null;
}

/** Builds the view of a page that lists things. */
export function listPage<Row>(page: ListPage<Row>): View {
  const { notice, filters, table, empty: [title, advice, block], next = null, ...head } = page;
  return {
    ...head,
    body: [
      notice,
      filters,
      table.rows.length > 0
        ? <div class="panel">{Table(table)}</div>
        : <Empty title={title}>{[advice !== null && <p>{advice}</p>, block]}</Empty>,
      <NextPage to={next} />,
    ],
  };
}

/** Returns the path of a list's next page, with the filters of this one; null for the last page. */
export function nextPath(path: string, filters: Filters, cursor: string | null): string | null {
  return cursor && path + queryText([...Object.entries(filters), ["cursor", cursor]]);
}

type Filters = Readonly<Record<string, string | number | null>>;

/** A link to the next page of a list; nothing on the last page. */
export function NextPage({ to }: { readonly to: string | null }) {
  return to !== null && (
    <p class="pager">
      <a href={to} rel="next" class="btn">Next page</a>
    </p>
  );
}

/** Filters of a list: the script applies each as soon as it is chosen, else a button does. */
export function FilterForm(
  { action, children }: PropsWithChildren<{ /** Path of the list. */ readonly action: string }>,
) {
  return (
    <form class="filters" method="get" action={action} aria-label="Filters" data-filters>
      {children}
      <noscript>
        <button type="submit" class="btn">Apply</button>
      </noscript>
    </form>
  );
}

/** Returns the action that the page's address asks to confirm; null for none of the given ones. */
export function confirmedIn<Action extends string>(c: RequestContext, ...actions: Action[]) {
  return actions.find((action) => action === c.req.query("confirm")) ?? null;
}

/** The link that asks for an action, such as "Delete…". */
export function ConfirmLink(
  { path, action, label }: Readonly<Record<"path" | "action" | "label", string>>,
) {
  return <a class="btn" href={path + queryText([["confirm", action]])}>{label}</a>;
}

/** A form that asks for confirmation of an action. */
export function ConfirmForm(form: {
  readonly action: string;
  readonly title: string;
  readonly submit: string;
  /** Class of the button; by default the class of a removal. */
  readonly submitClass?: string;
  /** Label of the link that cancels. */
  readonly cancel?: string;
  readonly cancelTo: string;
  readonly children?: Child;
}) {
  const { submitClass = "btn danger", cancel = "Keep it" } = form;
  return (
    <form class="confirm" method="post" action={form.action}>
      <h2>{form.title}</h2>
      {form.children}
      <div class="buttons">
        <button type="submit" class={submitClass}>{form.submit}</button>
        <a href={form.cancelTo} class="btn">{cancel}</a>
      </div>
    </form>
  );
}
