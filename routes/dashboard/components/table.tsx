/** Tables described by columns and rows. */
import type { Child } from "hono/jsx";
import { Section, Wide } from "./elements.tsx";
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

/** A column whose cells name their rows. */
export function nameColumn<Row>(head: Child, cell: (row: Row) => Child): Column<Row> {
  return { head, isName: true, cell };
}

type Unit<Row> = Column<Row>["unit"];

/** A number column; `unit` names what a cell counts. */
export function numberColumn<Row>(head: Child, cell: (row: Row) => Child, unit?: Unit<Row>) {
  return { head, cell, class: "num", unit };
}

/** A column of counts of a noun. */
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

/** A panel with a table that has the same name. */
export function tableSection<Row>(title: string, table: Omit<TableProps<Row>, "label">) {
  return <Section title={title}>{Table({ class: "fold", ...table, label: title })}</Section>;
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
