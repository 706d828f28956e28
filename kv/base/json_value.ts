/**
 * Stored values as JSON.
 *
 * JSON has no bytes, no large integers, and no undefined. Such a value is an object whose only field
 * is its tag; an object that has a field with a tag's name is wrapped itself.
 *
 * @module
 */

/** Tags of values that JSON does not have. */
const TAG = {
  bytes: "$bytes",
  big: "$int",
  counter: "$sum",
  number: "$num",
  object: "$obj",
} as const;
const UNDEFINED = "undefined";

/** Returns JSON for a stored value. */
export function toJson(value: unknown): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      // JSON also has no sign of zero.
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : { [TAG.number]: Object.is(value, -0) ? "-0" : String(value) };
    case "bigint":
      return { [TAG.big]: String(value) };
    case "undefined":
      return { [TAG.number]: UNDEFINED };
    case "object":
      return value === null ? null : objectToJson(value);
    default:
      throw new TypeError(`A row cannot hold a ${typeof value}`);
  }
}

function objectToJson(value: object): unknown {
  if (value instanceof Uint8Array) return { [TAG.bytes]: value.toBase64() };
  if (value instanceof Deno.KvU64) return { [TAG.counter]: String(value.value) };
  if (Array.isArray(value)) return value.map(toJson);
  if (Object.getPrototypeOf(value) !== Object.prototype) {
    throw new TypeError(`A row cannot hold a ${value.constructor.name}`);
  }
  const fields = Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, toJson(part)]),
  );
  return Object.values<string>(TAG).some((tag) => tag in fields)
    ? { [TAG.object]: fields }
    : fields;
}

/** Returns the value that {@link toJson} returned JSON for. */
export function fromJson(json: unknown): unknown {
  if (typeof json !== "object" || json === null) return json;
  if (Array.isArray(json)) return json.map(fromJson);
  const [[tag, content] = [], ...more] = Object.entries(json);
  if (more.length === 0) {
    switch (tag) {
      case TAG.bytes:
        return Uint8Array.fromBase64(String(content));
      case TAG.big:
        return BigInt(String(content));
      case TAG.counter:
        return new Deno.KvU64(BigInt(String(content)));
      case TAG.number:
        return content === UNDEFINED ? undefined : Number(content);
      case TAG.object:
        return fieldsFromJson(content as object);
    }
  }
  return fieldsFromJson(json);
}

function fieldsFromJson(json: object): unknown {
  return Object.fromEntries(Object.entries(json).map(([name, part]) => [name, fromJson(part)]));
}
