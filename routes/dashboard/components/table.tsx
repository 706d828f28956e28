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
  readonly unit?: string | ((row: Row) => string);
  /** Additional attributes of a cell. */
  readonly attributes?: (row: Row) => Readonly<Record<string, string>>;
}

/** A number column; `unit` names what a cell counts. */
export function numberColumn<Row>(
  head: Child,
  cell: (row: Row) => Child,
  unit?: Column<Row>["unit"],
): Column<Row> {
  return { head, cell, class: "number", ...(unit === undefined ? {} : { unit }) };
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

interface TableProps<Row> extends Columns<Row> {
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
      <table {...(name === undefined ? {} : { class: name })}>
        {caption ?? null}
        <TableHead columns={columns} />
        <tbody>{rows.map((row) => <TableRow columns={columns} row={row} />)}</tbody>
        {children ?? null}
      </table>
    </Wide>
  );
}

/** The header row. */
export function TableHead<Row>({ columns }: Columns<Row>) {
  return (
    <thead>
      <tr>
        {columns.map((column) => (
          <th scope="col" {...classOf(headClassOf(column))}>{column.head}</th>
        ))}
      </tr>
    </thead>
  );
}

function headClassOf(column: Column<never>): string | undefined {
  return column.headClass ?? (column.class?.startsWith("number") ? "number" : undefined);
}

export function TableRow<Row>({ columns, row }: Columns<Row> & { readonly row: Row }) {
  return (
    <tr>
      {columns.map((column) => {
        const attributes = attributesOf(column, row);
        return column.isName
          ? <th scope="row" {...attributes}>{column.cell(row)}</th>
          : <td {...attributes}>{column.cell(row)}</td>;
      })}
    </tr>
  );
}

function attributesOf<Row>(column: Column<Row>, row: Row): Record<string, string> {
  const { before, unit, attributes } = column;
  return {
    ...classOf(column.class),
    ...(before === undefined ? {} : { "data-before": before }),
    ...(unit === undefined ? {} : { "data-unit": typeof unit === "string" ? unit : unit(row) }),
    ...attributes?.(row),
  };
}

function classOf(name: string | undefined): Record<string, string> {
  return name === undefined ? {} : { class: name };
}
