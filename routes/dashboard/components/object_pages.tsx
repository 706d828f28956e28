/**
 * Pages of configured objects: rules, channels, silences, checks. Each submission is the same as the
 * API's call.
 *
 * @module
 */
import type { Child } from "hono/jsx";
import { isConfigSlug } from "../../../domain/config/body.ts";
import type {
  ConfigObject,
  ConfigRequest,
  ConfigStore,
  PutObject,
} from "../../../domain/config/objects.ts";
import type { Parsed, Problem } from "../../../domain/core/errors.ts";
import { noSuch } from "../../api/objects.ts";
import { mayAdmin, teamKey } from "../../http/access.ts";
import type { Handler, HandlerDeps } from "../../http/admission.ts";
import { fail } from "../../http/answer.ts";
import { type AppDeps, madeBy, type RequestContext } from "../../http/context.ts";
import { type PageRoute, post, type View } from "../layout/page.ts";
import { queryText } from "../layout/paths.ts";
import { seeOther, showFormOnProblem, showPage } from "../layout/reply.tsx";
import { ConfirmForm, ConfirmLink } from "./list_page.tsx";
import { Crumbs, DELETED, Done, SAVED, Section } from "./elements.tsx";
import { WRONG_SLUG } from "./form_fields.tsx";
import { capitalized } from "./format.ts";

import * as objects from "./object_forms.tsx";

/** The form of one kind of objects. */
export interface ObjectForms<Settings, Put = Settings> extends objects.ObjectPages {
  readonly storeOf: (deps: AppDeps) => ConfigStore<Settings, Put>;
  /** Fields with several values. */
  readonly lists: readonly string[];
  readonly parse: (typed: objects.Typed, nowMs: number) => Parsed<ConfigRequest<Put>>;
  /** Reads what the form offers. */
  readonly open: (c: RequestContext, deps: AppDeps) => Promise<objects.OpenForm>;
  /** Responds to a change; leads to the list when absent. */
  readonly done?: (
    c: RequestContext,
    deps: AppDeps,
    slug: string,
    result: PutObject<Settings>,
  ) => Response | Promise<Response>;
}

/** Returns the path of an object's page. */
function pathOf({ listPath }: objects.ObjectPages, slug: string): string {
  return `${listPath}/${encodeURIComponent(slug)}`;
}

/** Links to the list of a kind, and to a page below the list. */
export function ObjectCrumbs({ of: { kind, listPath }, below }: {
  readonly of: objects.ObjectPages;
  readonly below?: readonly [name: string, path: string] | undefined;
}) {
  const list = `${capitalized(kind)}s`;
  return <Crumbs links={[[list, listPath], ...below === undefined ? [] : [below]]} />;
}

/** The page of a form. */
export function formView(
  pages: objects.ObjectPages,
  open: objects.OpenForm,
  typed: objects.Typed,
  problem: Problem | null = null,
): View {
  const { kind, newPath, kinds: [kindField = "", labels] = [] } = pages;
  const { slug = "", [kindField]: name = "" } = typed.texts;
  const exists = objects.isStored(typed);
  const below = exists
    ? [slug, pathOf(pages, slug)] as const
    : labels && ["Kinds", newPath] as const;
  return open.frame({
    title: exists ? slug : `New ${kind}`,
    lead: labels?.[name],
    crumbs: <ObjectCrumbs of={pages} below={below} />,
    body: <objects.ObjectForm {...{ pages, open, typed, problem }} />,
  });
}

/** Builds a handler of the object that the path names. */
export function ofObject<Settings, Put>(
  { kind, storeOf }: ObjectForms<Settings, Put>,
  handle: (
    c: RequestContext,
    deps: HandlerDeps,
    object: ConfigObject<Settings>,
  ) => Response | Promise<Response>,
): Handler {
  return async (c, deps) => {
    const slug = c.req.param("slug") ?? "";
    const object = isConfigSlug(slug)
      ? await storeOf(deps).read(c.get("principal").team, slug)
      : null;
    return object === null ? fail(c, noSuch(kind)) : handle(c, deps, object);
  };
}

interface ObjectPage {
  readonly lead?: Child;
  /** Buttons of an admin before the one that deletes. */
  readonly buttons?: Child;
  /** Consequences of a deletion, in words. */
  readonly deletion: string;
  readonly body: Child;
}

/** The page of an object, which an admin can delete. */
export function objectView(
  c: RequestContext,
  pages: objects.ObjectPages,
  slug: string,
  { lead, buttons, deletion, body }: ObjectPage,
): View {
  const { kind } = pages;
  const path = pathOf(pages, slug);
  const isAdmin = mayAdmin(c.get("principal"));
  const confirm = c.req.query("confirm");
  return {
    title: slug,
    lead,
    crumbs: <ObjectCrumbs of={pages} />,
    aside: isAdmin && confirm === undefined
      ? (
        <>
          {buttons}
          <ConfirmLink path={path} action="delete" label="Delete…" />
        </>
      )
      : null,
    body: (
      <>
        <Done c={c} />
        {isAdmin && confirm === "delete" && (
          <ConfirmForm
            action={`${path}/delete`}
            title={`Delete the ${kind} “${slug}”?`}
            submit={`Delete ${kind}`}
            cancelTo={path}
          >
            <p>{deletion}</p>
          </ConfirmForm>
        )}
        {body}
      </>
    ),
  };
}

const admin = teamKey("admin");

/** Returns the routes of a form: of a new object, of a change, and of a deletion. */
export function formRoutes<Settings, Put>(
  forms: ObjectForms<Settings, Put>,
): readonly PageRoute[] {
  const { kind, listPath, newPath, kinds, open, lists, parse, storeOf, done } = forms;
  /** Shows the form of a new object; before that, the kinds to choose from. */
  const showNew: Handler = async (c, deps) => {
    const form = await open(c, deps);
    if (kinds === undefined || c.req.query(kinds[0]) !== undefined) {
      return showPage(c, formView(forms, form, form.empty));
    }
    const body = (
      <Section title={`Kind of ${kind}`}>
        <KindLinks of={forms} />
      </Section>
    );
    const crumbs = <ObjectCrumbs of={forms} />;
    return showPage(c, form.frame({ title: `New ${kind}`, crumbs, body }));
  };
  const submit: Handler = async (c, deps) => {
    const form = await open(c, deps);
    const typed = objects.typedIn(c.get("form"), lists);
    showFormOnProblem(c, (problem) => formView(forms, form, typed, problem));
    const { slug = "" } = typed.texts;
    if (!isConfigSlug(slug)) return fail(c, WRONG_SLUG);
    const wrong = objects.wrongDuration(typed);
    if (wrong !== null) return fail(c, wrong);
    const made = madeBy(c, deps);
    const parsed = parse(typed, made.at);
    if (!parsed.ok) return fail(c, parsed.problem);
    const { settings, version } = parsed.value;
    const put = await storeOf(deps).put(c.get("principal").team, slug, settings, version, made);
    if (!put.ok) return fail(c, put.problem);
    return done?.(c, deps, slug, put.value) ?? seeOther(listPath + SAVED);
  };
  const remove = ofObject(forms, async (c, deps, { slug }) => {
    const removed = await storeOf(deps).remove(c.get("principal").team, slug, madeBy(c, deps));
    return removed === null ? fail(c, noSuch(kind)) : seeOther(listPath + DELETED);
  });
  return [
    { method: "GET", path: newPath, access: admin, handler: showNew },
    post(listPath, submit, admin),
    post(`${listPath}/:slug/delete`, remove, admin),
  ];
}

/** Links to the forms of all kinds. */
export function KindLinks({ of: { newPath, kinds } }: { readonly of: objects.ObjectPages }) {
  const [field, labels, words]: Required<objects.ObjectPages>["kinds"] = kinds ?? ["", {}, {}];
  return (
    <ul class="pick">
      {Object.entries(labels).map(([kind, label]) => (
        <li>
          <a class="row" href={newPath + queryText([[field, kind]])}>{label}</a>
          <small class="under">{words[kind]}</small>
        </li>
      ))}
    </ul>
  );
}
