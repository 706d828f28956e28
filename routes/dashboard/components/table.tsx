/** Tables described by columns and rows. */
import type { Child } from "hono/jsx";
import { Wide } from "./elements.tsx";
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

/** A number column; `unit` names what a cell counts. */
export function numberColumn<Row>(
  head: Child,
  cell: (row: Row) => Child,
  unit?: Column<Row>["unit"],
): Column<Row> {
  return { head, cell, class: "num", unit };
}

/** A column of counts of a noun. */
export function countColumn<Row>(
  head: Child,
  countOf: (row: Row) => number,
  noun: string,
): Column<Row> {
  const unit = (row: Row) => pluralOf(countOf(row), noun);
  return numberColumn(head, (row) => formatCount(countOf(row)), unit);
}

interface Columns<Row> {
  readonly columns: readonly Column<Row>[];
}

export interface TableProps<Row> extends Columns<Row> {
  /** Name of the table for screen readers. */
  readonly label: string;
  readonly class?: string;
  readonly caption?: Child;
  readonly rows: readonly Row[];
  /** Footer of the table. */
  readonly children?: Child;
}

/** Shows rows as a table that scrolls when it is wider than the screen. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, caption, columns, rows, class: name, children } = props;
  return (
    <Wide label={label}>
      <table class={name === undefined ? "list" : `list ${name}`}>
        {caption}
        <TableHead columns={columns} />
        <tbody>{rows.map((row) => <TableRow columns={columns} row={row} />)}</tbody>
        {children}
      </table>
    </Wide>
  );
}

/** The header row. */
export function TableHead<Row>({ columns }: Columns<Row>) {
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

export function TableRow<Row>(
  { columns, row, class: name }: Columns<Row> & {
    readonly row: Row;
    readonly class?: string | undefined;
  },
) {
  return (
    <tr class={name}>
      {columns.map(({ isName, class: name, before, unit, attributes, cell }) => {
        const Cell = isName ? "th" : "td";
        return (
          <Cell
            scope={isName ? "row" : undefined}
            class={name}
            data-before={before}
            data-unit={typeof unit === "function" ? unit(row) : unit}
            {...attributes?.(row)}
          >
            {cell(row)}
          </Cell>
        );
      })}
    </tr>
  );
}
