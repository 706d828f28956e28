/** Section of one operation. */
import { curlOf } from "./curl.ts";
import {
  type CallOfGroup,
  type Content,
  type Document,
  type DocumentedCall,
  resolved,
  type Response,
  schemaName,
} from "./document.ts";
import {
  documentedFields,
  DocumentedTable,
  FieldTable,
  joined,
  Prose,
  sentField,
} from "./fields.tsx";

/** Renders an operation: parameters, body, an example, and responses. */
export function CallSection(
  { document, placed, again }: {
    readonly document: Document;
    readonly placed: CallOfGroup;
    readonly again: string;
  },
) {
  const { method, path, call } = placed;
  return (
    <section id={call.operationId}>
      <h3>
        <span class={`method ${method}`}>{method}</span> <code>{path}</code>
      </h3>
      <p>
        <b>{call.summary}.</b> <Prose text={call.description} />
      </p>
      <p class="soft">
        {access(call)} Idempotency: {again}
      </p>
      <Parameters call={call} />
      <Body document={document} call={call} />
      <pre>{curlOf(placed)}</pre>
      <Answers call={call} />
    </section>
  );
}

function access(call: DocumentedCall): string {
  const scope = call["x-scope"];
  const operator = call["x-operator"];
  if (scope === null) return operator ? "The operator's key." : "No credential.";
  if (operator) return `Scope ${scope}, or the operator's key.`;
  const key = scope === "any" ? "A team key" : `Scope ${scope}`;
  return `${key}${call["x-ping-tokens"] ? ", or a ping token" : ""}.`;
}

function Parameters({ call }: { readonly call: DocumentedCall }) {
  return (["path", "query", "header"] as const).map((where) => {
    const fields = call.parameters.filter((parameter) => parameter.in === where)
      .map(({ name, required, description = "", schema }) => ({
        name,
        required: required && where !== "path",
        schema: { ...schema, description },
      }));
    if (fields.length === 0) return null;
    return (
      <>
        <h4>{where === "header" ? "headers" : where}</h4>
        <FieldTable fields={fields} />
      </>
    );
  });
}

function Body({ document, call }: { readonly document: Document; readonly call: DocumentedCall }) {
  const { required = true, content = {} } = call.requestBody ?? {};
  const bodySchema = content["application/json"]?.schema;
  if (bodySchema === undefined) return null;
  const schema = resolved(document, bodySchema);
  const alternatives = schema.oneOf?.map((alternative) => resolved(document, alternative)) ??
    [schema];
  return (
    <>
      <h4>body{required ? "" : " (optional)"}</h4>
      {alternatives.map((alternative) => (
        <FieldTable fields={documentedFields(alternative).map(sentField)} />
      ))}
    </>
  );
}

function Answers({ call }: { readonly call: DocumentedCall }) {
  const answers = Object.entries(call.responses);
  return (
    <>
      {answers.map(([, { content }]) => <Sample content={content} />)}
      <DocumentedTable
        head={["status", "response"]}
        rows={answers.map(([status, response]) => [
          status,
          response.$ref === undefined
            ? <ResponseCell response={response} />
            : <Codes name={schemaName(response.$ref)} />,
        ])}
      />
    </>
  );
}

/** Example response, collapsed when it is long. */
function Sample({ content }: { readonly content: Content | undefined }) {
  return Object.values(content ?? {}).map(({ example }) => {
    if (example === undefined) return null;
    if (typeof example === "string") return <pre>{example}</pre>;
    const text = JSON.stringify(example, null, 2);
    if (text.length < 500) return <pre>{text}</pre>;
    return (
      <details>
        <summary>response</summary>
        <pre>{text}</pre>
      </details>
    );
  });
}

/** Headers of every response, which are explained once. */
const EVERYWHERE = new Set(["X-Request-Id", "RateLimit", "RateLimit-Policy"]);

function ResponseCell({ response }: { readonly response: Response }) {
  const { description = "", content = {}, headers = {} } = response;
  const refs = Object.values(content).map(({ schema }) => schema.$ref ?? schema.items?.$ref);
  const names = Object.keys(headers).filter((name) => !EVERYWHERE.has(name));
  return (
    <>
      <Prose text={description} />
      {refs.map((ref) =>
        ref === undefined ? null : (
          <>
            {" "}
            <a href={`#schema-${schemaName(ref)}`}>{schemaName(ref)}</a>
          </>
        )
      )}
      {names.length > 0 ? ` · ${names.join(", ")}` : ""}
    </>
  );
}

/** Error codes, taken from the name of the shared response. */
function Codes({ name }: { readonly name: string }) {
  const codes = name.split(".").filter((part) => part !== "text" && part !== "open");
  return joined(codes.map((code) => <a href={`#error-${code}`}>{code}</a>), ", ");
}
