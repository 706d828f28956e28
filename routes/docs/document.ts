/** The parts of the OpenAPI document that the page reads. */

/** A JSON Schema. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
}

/** A parameter of a call. */
export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
  readonly example?: unknown;
}

/** What a body or an answer holds, by media type. */
export type Content = Readonly<
  Record<string, { readonly schema: Schema; readonly example?: unknown }>
>;

/** An answer, or where a refusal's is. */
export interface Response {
  readonly $ref?: string;
  readonly description?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Content;
}

/** One call. */
export interface Call {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly "x-scope": string | null;
  readonly "x-ping-tokens": boolean;
  readonly "x-operator": boolean;
  readonly "x-idempotency": string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, Response>>;
}

/** All of it. */
export interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Call>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly headers: Readonly<Record<string, { readonly description: string }>>;
  };
  readonly "x-errors": readonly {
    readonly code: string;
    readonly status: number;
    readonly retry: boolean;
    readonly meaning: string;
  }[];
  readonly "x-idempotency-classes": Readonly<Record<string, string>>;
}

/** A call with its place. */
export interface PlacedCall {
  readonly method: string;
  readonly path: string;
  readonly call: Call;
}

/** All calls, in the order of the document. */
export function callsOf({ paths }: Document): PlacedCall[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, call]) => ({ method: method.toUpperCase(), path, call }))
  );
}

/** What a schema is: of a reference, what it leads to. */
export function resolved({ components }: Document, schema: Schema): Schema {
  return schema.$ref === undefined ? schema : components.schemas[nameOf(schema.$ref)] ?? {};
}

/** The last part of a reference: the name of what it leads to. */
export function nameOf(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}
