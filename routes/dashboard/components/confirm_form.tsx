/** Actions that are asked for in a link, and confirmed in a form on the same page. */
import type { Child } from "hono/jsx";
import type { RequestContext } from "../../http/context.ts";
import { queryText } from "../layout/paths.ts";

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
  /** Class of the button; by default that of a removal. */
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
