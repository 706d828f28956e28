/** The API's description as a page for people: one file, no script, nothing from elsewhere. */
import { createHash } from "node:crypto";
import { CallSection } from "./call.tsx";
import { type Document, documentedCalls, type DocumentedSchema } from "./document.ts";
import { documentedFields, FieldTable, Prose, Type } from "./fields.tsx";
import { STYLE } from "./style.ts";

/** What a browser may load for the page: its own style, and nothing else. */
export const POLICY = "default-src 'none'; " +
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; ` +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Writes the page of a document. */
export function renderDocsPage(document: Document): string {
  return `<!DOCTYPE html>${(<Page document={document} />).toString()}\n`;
}

/** What the examples need once. */
const SETTING = 'U=http://127.0.0.1:8000 K="Authorization: Bearer apk_eu_…"';

interface Whole {
  readonly document: Document;
}

function Page({ document }: Whole) {
  const { title, description } = document.info;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${title} API`}</title>
        {/* As it is: what is escaped in a style would not be the style. */}
        <style dangerouslySetInnerHTML={{ __html: STYLE }} />
      </head>
      <body>
        <main>
          <h1>{title} API</h1>
          <p>{description}</p>
          <p>
            The same for machines: <a href="/openapi.json">openapi.json</a>. In the examples{" "}
            <code>U</code> is the endpoint and <code>K</code> the header with the key:
          </p>
          <pre>{SETTING}</pre>
          <p class="soft">Fields marked * must be sent, and are in every answer.</p>
          <Contents document={document} />
          <Calls document={document} />
          <Shared document={document} />
          <Schemas document={document} />
        </main>
      </body>
    </html>
  );
}

function Contents({ document }: Whole) {
  return (
    <nav>
      {document.tags.map(({ name }) => (
        <>
          <b>{name}</b>
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
      <p>
        <a href="#errors">Errors</a> · <a href="#headers">Headers</a> ·{" "}
        <a href="#schemas">Schemas</a>
      </p>
    </nav>
  );
}

function Calls({ document }: Whole) {
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

/** What holds for all calls. */
function Shared({ document }: Whole) {
  return (
    <>
      <h2 id="errors">Errors</h2>
      <p>
        Every refusal is <a href="#schema-Error">Error</a>, and nothing is stored on any 4xx.
      </p>
      <div class="wide" tabindex={0}>
        <table>
          {document["x-errors"].map(({ code, status, retry, meaning }) => (
            <tr id={`error-${code}`}>
              <td>
                <code>{code}</code>
              </td>
              <td>{status}</td>
              <td>{retry ? "retry" : "no retry"}</td>
              <td>{meaning}</td>
            </tr>
          ))}
        </table>
      </div>
      <h2 id="headers">Headers</h2>
      <Meanings
        of={Object.entries(document.components.headers)
          .map(([name, { description }]) => [name, description])}
      />
    </>
  );
}

function Meanings({ of }: { readonly of: readonly (readonly [string, string])[] }) {
  return (
    <div class="wide" tabindex={0}>
      <table>
        {of.map(([name, meaning]) => (
          <tr>
            <td>
              <code>{name}</code>
            </td>
            <td>
              <Prose text={meaning} />
            </td>
          </tr>
        ))}
      </table>
    </div>
  );
}

function Schemas({ document }: Whole) {
  return (
    <>
      <h2 id="schemas">Schemas</h2>
      {Object.entries(document.components.schemas).map(([name, schema]) => (
        <section id={`schema-${name}`}>
          <h3>{name}</h3>
          <p>
            <Prose text={schema.description ?? ""} />
          </p>
          {isWord(schema)
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

/** Whether a schema is said in a few words: it has no fields. */
function isWord({ enum: words, anyOf, oneOf }: DocumentedSchema): boolean {
  return (words ?? anyOf ?? oneOf) !== undefined;
}
