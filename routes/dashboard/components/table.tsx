/** Tables, each by its columns and rows. */
import type { Child } from "hono/jsx";
import { Wide } from "./elements.tsx";

/** A column of a table. */
export interface Column<Row> {
  readonly head: Child;
  readonly cell: (row: Row) => Child;
  /** Whether its cells are the names of their rows. */
  readonly isName?: boolean;
  /** The class of its cells; the head of a column of numbers has it too. */
  readonly class?: string;
  /** The class of its head, where it has one of its own. */
  readonly headClass?: string;
  /** What a cell is of, shown before it and behind it where the table has no head: on a phone. */
  readonly before?: string;
  readonly unit?: string | ((row: Row) => string);
  /** Further attributes of a cell. */
  readonly attributes?: (row: Row) => Readonly<Record<string, string>>;
}

interface Columns<Row> {
  readonly columns: readonly Column<Row>[];
}

interface TableProps<Row> extends Columns<Row> {
  /** The name of the table for screen readers. */
  readonly label: string;
  readonly class?: string;
  readonly caption?: Child;
  readonly rows: readonly Row[];
  /** The foot of the table. */
  readonly children?: Child;
}

/** Shows rows as a table that scrolls by itself where it is wider than the screen. */
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

/** The names of the columns. */
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

/** A row with a cell for each column. */
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
