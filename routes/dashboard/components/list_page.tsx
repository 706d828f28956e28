/** Pages that list things: filters, one table, how to fill an empty list, and the next page. */
import type { Child, PropsWithChildren } from "hono/jsx";
import type { View } from "../layout/page.ts";
import { queryText } from "../layout/paths.ts";
import { Empty } from "./elements.tsx";
import { Table, type TableProps } from "./table.tsx";
import type { RequestContext } from "../../http/context.ts";

interface ListPage<Row> extends Pick<View, "title" | "lead" | "aside" | "crumbs"> {
  /** Shown above the filters: a notice or an explanation. */
  readonly notice?: Child;
  /** The form that narrows the list. */
  readonly filters?: Child;
  readonly table: TableProps<Row>;
  /** Shown instead of a table without rows: a title, what to do about it, and a block below. */
  readonly empty: readonly [title: string, advice: Child, block?: Child];
  /** Path of the next page; null on the last one. */
  readonly next?: string | null;
}

/** Builds the view of a page that lists things. */
export function listPage<Row>(page: ListPage<Row>): View {
  const { notice, filters, table, empty: [title, advice, block], next = null, ...head } = page;
  return {
    ...head,
    body: (
      <>
        {notice}
        {filters}
        {table.rows.length > 0
          ? <div class="panel">{Table(table)}</div>
          : <Empty title={title}>{[advice !== null && <p>{advice}</p>, block]}</Empty>}
        <NextPage to={next} />
      </>
    ),
  };
}

/** Returns the path of a list's next page, with the filters of this one; null for the last page. */
export function nextPath(path: string, filters: Filters, cursor: string | null): string | null {
  return cursor && path + queryText([...Object.entries(filters), ["cursor", cursor]]);
}

type Filters = Readonly<Record<string, string | number | null>>;

/** A link to the next page of a list; nothing on the last page. */
export function NextPage({ to }: { readonly to: string | null }) {
  return to !== null && (
    <p class="pager">
      <a href={to} rel="next" class="btn">Next page</a>
    </p>
  );
}

/** Filters of a list: the script applies each as soon as it is chosen, else a button does. */
export function FilterForm(
  { action, children }: PropsWithChildren<{ /** Path of the list. */ readonly action: string }>,
) {
  return (
    <form class="filters" method="get" action={action} aria-label="Filters" data-filters>
      {children}
      <noscript>
        <button type="submit" class="btn">Apply</button>
      </noscript>
    </form>
  );
}

/** Returns the action that the page's address asks to confirm; null for none of the given ones. */
export function confirmedIn<Action extends string>(c: RequestContext, ...actions: Action[]) {
  return actions.find((action) => action === c.req.query("confirm")) ?? null;
}

/** The link that asks for an action, such as "Delete…". */
export function ConfirmLink(
  { path, action, label }: Readonly<Record<"path" | "action" | "label", string>>,
) {
  return <a class="btn" href={path + queryText([["confirm", action]])}>{label}</a>;
}

/** A form that asks for confirmation of an action. */
export function ConfirmForm(form: {
  readonly action: string;
  readonly title: string;
  readonly submit: string;
  /** Class of the button; by default the class of a removal. */
  readonly submitClass?: string;
  /** Label of the link that cancels. */
  readonly cancel?: string;
  readonly cancelTo: string;
  readonly children?: Child;
}) {
  const { submitClass = "btn danger", cancel = "Keep it" } = form;
  return (
    <form class="confirm" method="post" action={form.action}>
      <h2>{form.title}</h2>
      {form.children}
      <div class="buttons">
        <button type="submit" class={submitClass}>{form.submit}</button>
        <a href={form.cancelTo} class="btn">{cancel}</a>
      </div>
    </form>
  );
}
