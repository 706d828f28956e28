/** Types of the OpenAPI document, as far as tests read it. */

export interface DocumentedSchema {
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
  readonly items?: DocumentedSchema;
  readonly anyOf?: readonly DocumentedSchema[];
  readonly oneOf?: readonly DocumentedSchema[];
  readonly properties?: Readonly<Record<string, DocumentedSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: DocumentedSchema | boolean;
}

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly description?: string;
  readonly schema: DocumentedSchema;
  readonly example?: unknown;
}

/** Content of a body or a response, by media type. */
export type Content = Readonly<
  Record<string, { readonly schema: DocumentedSchema; readonly example?: unknown }>
>;

/** A response, or a reference to a shared error response. */
interface Response {
  readonly $ref?: string;
  readonly description?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Content;
}

interface DocumentedCall {
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

export interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedCall>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, DocumentedSchema>>;
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

/** An operation with its method and path. */
export interface CallOfGroup {
  readonly method: string;
  readonly path: string;
  readonly call: DocumentedCall;
}

/** Returns all operations in document order. */
export function documentedCalls({ paths }: Document): CallOfGroup[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, call]) => ({ method: method.toUpperCase(), path, call }))
  );
}

export function resolved({ components }: Document, schema: DocumentedSchema): DocumentedSchema {
  return schema.$ref === undefined ? schema : components.schemas[schemaName(schema.$ref)] ?? {};
}

/** Returns the name of the component that a reference points to. */
export function schemaName(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}
