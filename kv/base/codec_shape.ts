/**
 * Compact JSON of records: values by position instead of by name.
 *
 * A shape lists the fields of a record in their order of storage. Fields that a shape does not list
 * are stored by name, so a new field is never lost; listing it only saves bytes.
 *
 * @module
 */

/**
 * The stored form of a field's value: `plain` JSON, `optional` plain JSON that is never null, `big`
 * for a bigint, as a number where that is exact, or a record of another shape, or a list of them.
 */
export type Form = "plain" | "optional" | "big" | Shape | readonly [Shape];

/** The fields of a record, by name. */
export interface Shape {
  readonly [name: string]: Form;
}

declare const STORED: unique symbol;

/** A shape of stored records, as {@link storedShape} returns it. */
export type StoredShape<Fields extends Shape = Shape> = Fields & { readonly [STORED]: true };

/** All shapes of stored records by name: the test of the format compares them (R21). */
export const STORED_SHAPES = new Map<string, Shape>();

/** Names a shape of stored records. Only such a shape is packed, so none is left out of the test. */
export function storedShape<Fields extends Shape>(
  name: string,
  shape: Fields,
): StoredShape<Fields> {
  STORED_SHAPES.set(name, shape);
  return shape as StoredShape<Fields>;
}

/** Stored in place of an absent record. */
const ABSENT = 0;

type Fields = Record<string, unknown>;

/** The fields of a shape, to iterate over and to look up. */
interface Layout {
  readonly names: readonly string[];
  readonly forms: readonly Form[];
  readonly all: ReadonlySet<string>;
}

const layouts = new WeakMap<Shape, Layout>();

function layoutOf(shape: Shape): Layout {
  let layout = layouts.get(shape);
  if (layout === undefined) {
    const names = Object.keys(shape);
    layout = { names, forms: Object.values(shape), all: new Set(names) };
    layouts.set(shape, layout);
  }
  return layout;
}

/** Returns the values of a record in the order of its shape; then the other fields, if any. */
export const packRecord: (record: object, shape: StoredShape) => unknown[] = packFields;

function packFields(record: object, shape: Shape): unknown[] {
  const { names, forms, all } = layoutOf(shape);
  const fields = record as Fields;
  const packed: unknown[] = [];
  for (let i = 0; i < names.length; i++) {
    packed.push(packValue(fields[names[i] as string], forms[i] as Form));
  }
  let others: Fields | null = null;
  for (const name in fields) {
    if (all.has(name) || fields[name] === undefined) continue;
    others ??= {};
    others[name] = fields[name];
  }
  if (others !== null) packed.push(others);
  return packed;
}

function packValue(value: unknown, form: Form): unknown {
  if (form === "big") return packBig(value as bigint);
  if (typeof form === "string") return value ?? null;
  if (value === undefined) return ABSENT;
  if (value === null) return null;
  if (!Array.isArray(form)) return packFields(value, form as Shape);
  const [shape] = form as readonly [Shape];
  return (value as readonly object[]).map((each) => packFields(each, shape));
}

/** Restores a record from its parsed JSON. */
export const unpackRecord: (packed: readonly unknown[], shape: StoredShape) => Fields =
  unpackFields;

function unpackFields(packed: readonly unknown[], shape: Shape): Fields {
  const { names, forms } = layoutOf(shape);
  const fields: Fields = {};
  for (let i = 0; i < names.length; i++) {
    const value = unpackValue(packed[i], forms[i] as Form);
    if (value !== undefined) fields[names[i] as string] = value;
  }
  return Object.assign(fields, packed[names.length]);
}

function unpackValue(value: unknown, form: Form): unknown {
  if (form === "plain") return value;
  if (form === "optional") return value ?? undefined;
  if (form === "big") return BigInt(value as number | string);
  if (value === ABSENT) return undefined;
  if (value === null) return null;
  if (!Array.isArray(form)) return unpackFields(value as unknown[], form as Shape);
  const [shape] = form as readonly [Shape];
  return (value as readonly unknown[][]).map((each) => unpackFields(each, shape));
}

function packBig(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : `${value}`;
}
