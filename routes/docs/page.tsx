/** The API reference: its contents, and each operation, error, header and schema. */
import { CallSection } from "./call.tsx";
import { type Document, documentedCalls, type DocumentedSchema } from "./document.ts";
import { documentedFields, DocumentedTable, FieldTable, Prose, Type } from "./fields.tsx";

/** Shell variables that the examples use. */
const SETTING = 'U=http://127.0.0.1:8000 K="Authorization: Bearer apk_eu_…"';

interface DocumentProps {
  readonly document: Document;
}

/** Renders the reference without its heading. */
export function ApiReference({ document }: DocumentProps) {
  return (
    <div class="docs">
      <Contents document={document} />
      <div>
        <p>{document.info.description}</p>
        <p>
          Machine-readable version: <a href="/openapi.json">openapi.json</a>. The examples use{" "}
          <code>U</code> for the endpoint and <code>K</code> for the header with the key:
        </p>
        <pre>{SETTING}</pre>
        <p class="soft">
          Fields marked * are required in requests and always present in responses.
        </p>
        <Calls document={document} />
        <Shared document={document} />
        <Schemas document={document} />
      </div>
    </div>
  );
}

function Contents({ document }: DocumentProps) {
  return (
    <nav aria-label="Contents">
      <div>
        {document.tags.map(({ name }) => (
          <>
            <h2>{name}</h2>
            <ul>
              {documentedCalls(document).filter(({ call }) => call.tags.includes(name)).map((
                placed,
              ) => (
                <li>
                  <a href={`#${placed.call.operationId}`}>{placed.call.summary}</a>
                </li>
              ))}
            </ul>
          </>
        ))}
        <h2>Shared</h2>
        <ul>
          {[["errors", "Errors"], ["headers", "Headers"], ["schemas", "Schemas"]].map((
            [id, name],
          ) => (
            <li>
              <a href={`#${id}`}>{name}</a>
            </li>
          ))}
        </ul>
      </div>
    </nav>
  );
}

function Calls({ document }: DocumentProps) {
  const calls = documentedCalls(document);
  return document.tags.map(({ name, description }) => (
    <>
      <h2>{name}</h2>
      <p class="soft">{description}</p>
      {calls.filter(({ call }) => call.tags.includes(name))
        .map((placed) => (
          <CallSection
            document={document}
            placed={placed}
            again={document["x-idempotency-classes"][placed.call["x-idempotency"]] ?? ""}
          />
        ))}
    </>
  ));
}

/** Sections that apply to all operations. */
function Shared({ document }: DocumentProps) {
  return (
    <>
      <h2 id="errors">Errors</h2>
      <p>
        Every error has the schema{" "}
        <a href="#schema-Error">Error</a>. A request that is answered with 4xx stores nothing.
      </p>
      <DocumentedTable
        ids={document["x-errors"].map(({ code }) => `error-${code}`)}
        rows={document["x-errors"].map(({ code, status, retry, meaning }) => [
          <code>{code}</code>,
          status,
          retry ? "retry" : "no retry",
          meaning,
        ])}
      />
      <h2 id="headers">Headers</h2>
      <DocumentedTable
        rows={Object.entries(document.components.headers).map(([name, { description }]) => [
          <code>{name}</code>,
          <Prose text={description} />,
        ])}
      />
    </>
  );
}

function Schemas({ document }: DocumentProps) {
  return (
    <>
      <h2 id="schemas">Schemas</h2>
      {Object.entries(document.components.schemas).map(([name, schema]) => (
        <section id={`schema-${name}`}>
          <h3>{name}</h3>
          <p>
            <Prose text={schema.description ?? ""} />
          </p>
          {hasNoFields(schema)
            ? (
              <p>
                <Type schema={schema} />
              </p>
            )
            : <FieldTable fields={documentedFields(schema)} />}
        </section>
      ))}
    </>
  );
}

/** Returns whether a schema has no fields, and is shown as a type. */
function hasNoFields({ enum: values, anyOf, oneOf }: DocumentedSchema): boolean {
  return (values ?? anyOf ?? oneOf) !== undefined;
}
