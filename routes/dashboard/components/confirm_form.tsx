/** Actions that are asked for in a link, and confirmed in a form on the same page. */
import type { Child } from "hono/jsx";
import type { RequestContext } from "../../http/context.ts";
import { queryText } from "../layout/paths.ts";

/** Returns the action that the page's address asks to confirm; null for none of the given ones. */
export function confirmedIn<Action extends string>(
  c: RequestContext,
  ...actions: readonly Action[]
): Action | null {
  const asked = c.req.query("confirm");
  return actions.find((action) => action === asked) ?? null;
}

/** The link that asks for an action, such as "Delete…". */
export function ConfirmLink(
  { path, action, label }: {
    readonly path: string;
    readonly action: string;
    readonly label: string;
  },
) {
  return <a class="btn" href={path + queryText([["confirm", action]])}>{label}</a>;
}

interface ConfirmFormProps {
  readonly action: string;
  readonly title: string;
  readonly submit: string;
  /** Class of the button; by default that of a removal. */
  readonly submitClass?: string;
  /** Label of the link that cancels. */
  readonly cancel?: string;
  readonly cancelTo: string;
  readonly children?: Child;
}

/** A form that asks for confirmation of an action. */
export function ConfirmForm(props: ConfirmFormProps) {
  const { submitClass = "btn danger", cancel = "Keep it" } = props;
  return (
    <form class="confirm" method="post" action={props.action}>
      <h2>{props.title}</h2>
      {props.children}
      <div class="buttons">
        <button type="submit" class={submitClass}>{props.submit}</button>
        <a href={props.cancelTo} class="btn">{cancel}</a>
      </div>
    </form>
  );
}
