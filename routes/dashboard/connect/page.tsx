/** `/dashboard/connect`: the lines that connect each product, and when it last sent a trace. */
import {
  linesFor,
  type Product,
  PRODUCTS,
  PRODUCTS_BY_SLUG,
} from "../../../domain/otlp/products.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { KEY_NAME_CHARS_MAX } from "../../../domain/core/limits.ts";
import { parseKey } from "../../../domain/teams/key_list.ts";
import { teamKey } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import { type CommandTarget, commandTarget } from "../components/first_command.tsx";
import { bodyOf } from "../components/form_fields.tsx";
import { Ago, Copyable, InlineNotice, Section } from "../components/elements.tsx";
import { type Column, column, nameColumn, NONE, Table } from "../components/table.tsx";
import { type DashboardPage, type PageHandler, post, type Visit } from "../layout/page.tsx";
import { CONNECT_PATH, queryText } from "../layout/paths.ts";

const showConnect: PageHandler = (visit) => showProduct(visit, visit.c.req.query("product"), null);

/** Creates a key that sends traces, and shows it in the lines of a product. */
const submitKey: PageHandler = async (visit) => {
  const { c, deps, team, credentialId } = visit;
  const slug = c.get("form").get("product") ?? "";
  const product = PRODUCTS_BY_SLUG.get(slug);
  if (product === undefined) return fail(c, NO_SUCH_PRODUCT);
  const name = product.name.slice(0, KEY_NAME_CHARS_MAX);
  const spec = parseKey(bodyOf({ kind: "api_key", name, scopes: ["ingest"] }));
  const { secret } = await deps.credentials.create(team, spec, credentialId);
  return showProduct(visit, slug, secret);
};

const NO_SUCH_PRODUCT: Problem = {
  code: "invalid_field",
  message: "product is none of those on the page Connect: choose one there",
  field: "product",
};

/** A product with the time of its last trace. */
interface HeardProduct extends Product {
  /** Unix milliseconds; null for never. */
  readonly heardAt: number | null;
}

/**
 * Shows the lines of one product, and all products.
 *
 * @param secret the secret of a new key; null for none
 */
async function showProduct(visit: Visit, slug: string | undefined, secret: string | null) {
  const { deps, team, isAdmin } = visit;
  const [times, target] = await Promise.all([
    deps.productUses.read(team.id, PRODUCTS.map((product) => product.slug)),
    commandTarget(visit),
  ]);
  const heard = PRODUCTS.map((product, i): HeardProduct => ({
    ...product,
    heardAt: times[i] ?? null,
  }));
  // The page begins with the product that was heard last.
  const rows = heard.toSorted((a, b) => (b.heardAt ?? 0) - (a.heardAt ?? 0));
  const shown = heard.find((product) => product.slug === slug) ?? rows[0] as HeardProduct;
  const placeholder = `apk_${deps.region}_…`;
  return {
    title: "Connect",
    subtitle: "A trace of OpenTelemetry is a run. Point the exporter of your agent here.",
    status: secret === null ? 200 : 201,
    body: [
      <Section title={shown.name} aside={<LastHeard of={shown} />}>
        <KeyNote secret={secret} target={target} />
        <Copyable
          id="lines"
          text={linesFor(shown, target.origin, secret ?? target.key ?? placeholder)}
        />
        {secret === null && isAdmin && (
          <form method="post" action={CONNECT_PATH}>
            <input type="hidden" name="product" value={shown.slug} />
            <button type="submit" class="btn main">Create a key for these lines</button>
          </form>
        )}
        <p>
          You see {shown.shows}. {shown.lacks !== "" && `Not sent: ${shown.lacks}.`}{" "}
          <span class="quiet">{EVIDENCE[shown.evidence]}</span>
        </p>
      </Section>,
      <Section title="Products" tag={String(PRODUCTS.length)}>
        <Table label="Products" class="fold" columns={COLUMNS} rows={rows} />
      </Section>,
    ],
  };
}

const EVIDENCE: Readonly<Record<Product["evidence"], string>> = {
  live: "Tests run it with these lines.",
  recorded: "The lines follow its documentation. Tests send what it sent once.",
  documentation: "By its documentation.",
};

/** Says where the key of the lines comes from. */
function KeyNote({ secret, target: { key, mayCreateKeys } }: {
  readonly secret: string | null;
  readonly target: CommandTarget;
}) {
  if (secret !== null) {
    return (
      <InlineNotice kind="warn">
        <strong>Copy the lines now: their key is shown this once.</strong>{" "}
        It may send runs and read nothing.
      </InlineNotice>
    );
  }
  if (key !== null) return <p>They work as they are: the key is yours.</p>;
  return (
    <p>
      The key needs the scope <code>ingest</code>.{" "}
      {!mayCreateKeys && "A team member with the scope admin creates keys."}
    </p>
  );
}

function LastHeard({ of: { heardAt } }: { readonly of: HeardProduct }) {
  return heardAt === null ? <span class="quiet">not heard yet</span> : (
    <span>
      heard <Ago at={heardAt} />
    </span>
  );
}

const COLUMNS: readonly Column<HeardProduct>[] = [
  nameColumn(
    "Product",
    ({ slug, name }) => <a href={CONNECT_PATH + queryText([["product", slug]])}>{name}</a>,
  ),
  column("You see", { class: "whole" }, ({ shows }) => shows),
  column(
    "Last heard",
    { before: "heard" },
    ({ heardAt }) => heardAt === null ? NONE : <Ago at={heardAt} />,
  ),
];

export const connectPage: DashboardPage = {
  path: CONNECT_PATH,
  menu: { name: "Connect", area: "settings" },
  access: teamKey("read"),
  handler: showConnect,
  routes: [post(CONNECT_PATH, submitKey, teamKey("admin"))],
};
