/**
 * Pages of configured objects: list, form, one object, deletion. Each submission is the same as the
 * API's call.
 *
 * @module
 */
import type { Child } from "hono/jsx";
import { isConfigSlug } from "../../../domain/config/body.ts";
import type {
  ConfigObject,
  ConfigStore,
  ObjectKind,
  PutObject,
} from "../../../domain/config/objects.ts";
import type { JsonFields } from "../../../domain/core/body.ts";
import { existing, Refused } from "../../../domain/core/errors.ts";
import { noSuch } from "../../api/objects.ts";
import { mayAdmin, teamKey } from "../../http/access.ts";
import type { Handler, HandlerDeps } from "../../http/admission.ts";
import { type AppDeps, madeBy, type RequestContext } from "../../http/context.ts";
import {
  Crumbs,
  DELETED,
  Done,
  KeyValues,
  type Pairs,
  SAVED,
  Section,
} from "../components/elements.tsx";
import { WRONG_SLUG } from "../components/form_fields.tsx";
import { capitalized } from "../components/format.ts";
import { ConfirmForm, ConfirmLink } from "../components/table.tsx";
import {
  type DashboardPage,
  get,
  type PageRoute,
  post,
  seeOther,
  showFormOnProblem,
  showPage,
  type View,
} from "../layout/page.tsx";
import { queryText } from "../layout/paths.ts";
import {
  bodyIn,
  checkDurations,
  filledForm,
  type FormValues,
  isStored,
  newPathOf,
  ObjectForm,
  type OpenForm,
  schemaOf,
  type SentForm,
  submitted,
  trialPathOf,
} from "./form.tsx";

/** The pages of one kind of objects. */
export interface ObjectPages<Settings, Sent = Settings> {
  readonly of: ObjectKind<Settings, Sent>;
  /** Returns the store; the one of the kind when absent. */
  readonly storeOf?: (deps: AppDeps) => ConfigStore<Settings, Sent>;
  readonly listPath: string;
  /** Adds tabs or explanations to the pages. */
  readonly frame?: (c: RequestContext, deps: AppDeps) => Frame | Promise<Frame>;
  /** Name and explanation of each variant, which has a form of its own; absent if all are alike. */
  readonly variants?: Readonly<Record<string, readonly [name: string, words: string]>>;
  /** Reads what the form offers. */
  readonly open: (c: RequestContext, deps: AppDeps) => Promise<PageForm>;
  /** Returns the fields that the form of a stored object begins with; those of its settings when absent. */
  readonly fieldsOf?: (settings: Settings) => JsonFields;
  /** Converts a form whose fields are not those of the body. */
  readonly bodyOf?: (form: FormValues, nowMs: number) => JsonFields;
  /** A dry run of the form as it is typed, which shows what it found; absent for kinds without one. */
  readonly trial?: {
    readonly label: string;
    readonly run: (c: RequestContext, deps: AppDeps, form: FormValues) => Promise<Child>;
  };
  /** Notice of the list after a deletion; {@link DELETED} when absent. */
  readonly removed?: string;
  /** Responds to a change; leads to the list when absent. */
  readonly done?: (
    c: RequestContext,
    deps: AppDeps,
    slug: string,
    result: PutObject<Settings>,
  ) => Response | Promise<Response>;
}

type Frame = (view: View) => View;

export interface PageForm extends OpenForm {
  /** Puts explanations around the form. */
  readonly around?: (form: Child) => Child;
}

/** The kind of some pages, and their paths. */
export type Named = Pick<ObjectPages<never, never>, "listPath"> & {
  readonly of: Pick<ObjectKind<never, never>, "kind">;
};

/** Returns what puts a page into the frame of its kind. */
export async function frameOf(
  { frame }: { readonly frame?: ObjectPages<never>["frame"] },
  c: RequestContext,
  deps: AppDeps,
): Promise<Frame> {
  return await frame?.(c, deps) ?? ((view) => view);
}

/** Returns the path of an object's page. */
export function pathOf({ listPath }: Named, slug: string): string {
  return `${listPath}/${encodeURIComponent(slug)}`;
}

/** Links to the list of a kind, and to a page below the list. */
export function ObjectCrumbs({ of: { of: { kind }, listPath }, below }: {
  readonly of: Named;
  readonly below?: readonly [name: string, path: string] | undefined;
}) {
  const list = `${capitalized(kind)}s`;
  return <Crumbs links={[[list, listPath], ...below === undefined ? [] : [below]]} />;
}

/** Returns the form of a stored object. A default one is not stored, so its form has no version. */
export function formOf<Settings, Sent>(
  { of, fieldsOf = of.fieldsOf }: ObjectPages<Settings, Sent>,
  { slug, version, settings }: ConfigObject<Settings>,
): FormValues {
  return filledForm(of, { ...fieldsOf(settings), slug, version: version || null });
}

/** The page of a form. */
export function formView<Settings, Sent>(
  pages: ObjectPages<Settings, Sent>,
  open: PageForm,
  form: FormValues,
  sent: SentForm = {},
): View {
  const { of, variants } = pages;
  const { around = (form) => form } = open;
  const slug = form.get("slug") ?? "";
  const [name, words] = variants?.[form.get(of.variants?.field ?? "") ?? ""] ?? [];
  const exists = isStored(form);
  const below = exists
    ? [slug, pathOf(pages, slug)] as const
    : variants && ["Kinds", newPathOf(pages)] as const;
  return {
    title: exists ? slug : `New ${of.kind}`,
    subtitle: name,
    crumbs: <ObjectCrumbs of={pages} below={below} />,
    body: around(
      <>
        {words !== undefined && <p class="soft">{words}</p>}
        <ObjectForm {...{ pages, open, form }} {...sent} />
      </>,
    ),
  };
}

/** Returns the store of a kind. */
export function storeOf<Settings, Sent>(
  { of, storeOf }: ObjectPages<Settings, Sent>,
  deps: AppDeps,
): ConfigStore<Settings, Sent> {
  return storeOf?.(deps) ?? deps.objects(of);
}

/** Builds a handler of the object that the path names. */
export function ofObject<Settings, Sent>(
  pages: ObjectPages<Settings, Sent>,
  handle: (
    c: RequestContext,
    deps: HandlerDeps,
    object: ConfigObject<Settings>,
  ) => Response | Promise<Response>,
): Handler {
  return async (c, deps) => {
    const slug = c.req.param("slug") ?? "";
    const { team } = c.get("principal");
    const object = isConfigSlug(slug) ? await storeOf(pages, deps).read(team, slug) : null;
    return handle(c, deps, existing(object, noSuch(pages.of.kind)));
  };
}

interface ObjectPage {
  readonly subtitle?: Child;
  /** Buttons of an admin before the one that deletes. */
  readonly buttons?: Child;
  /** Consequences of a deletion, in words. */
  readonly deletion: string;
  readonly body: Child;
}

/** The page of an object, which an admin can delete. */
export function objectView(
  c: RequestContext,
  pages: Named,
  slug: string,
  { subtitle, buttons, deletion, body }: ObjectPage,
): View {
  const { of: { kind } } = pages;
  const path = pathOf(pages, slug);
  const isAdmin = mayAdmin(c.get("principal"));
  const confirm = c.req.query("confirm");
  return {
    title: slug,
    subtitle,
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

/** Contents of the page of an object. */
interface Description {
  readonly subtitle: string;
  /** Facts for those who may not change it, and for all if it has a state. */
  readonly facts: Pairs;
  /** Shown below the facts of an object that has a state; absent for one without. */
  readonly below?: Child;
}

/** The page of an object: its state, and for an admin its form, for others its facts. */
export function showObject<Settings, Sent>(
  pages: ObjectPages<Settings, Sent>,
  deletion: string,
  describe: (
    object: ConfigObject<Settings>,
    c: RequestContext,
    deps: AppDeps,
  ) => Description | Promise<Description>,
): Handler {
  return ofObject(pages, async (c, deps, object) => {
    const open = await pages.open(c, deps);
    const { subtitle, facts, below } = await describe(object, c, deps);
    const isAdmin = mayAdmin(c.get("principal"));
    const form = isAdmin && <ObjectForm pages={pages} open={open} form={formOf(pages, object)} />;
    const state = (
      <>
        <Section title="Now">
          <KeyValues pairs={facts} />
        </Section>
        {below}
        {isAdmin && <Section title="Settings">{form}</Section>}
      </>
    );
    const plain = form || <KeyValues pairs={facts} />;
    const body = below === undefined ? plain : state;
    const frame = await frameOf(pages, c, deps);
    return showPage(c, frame(objectView(c, pages, object.slug, { subtitle, deletion, body })));
  });
}

const admin = teamKey("admin");

/** Makes the API's call that sets an object. */
async function put<Settings, Sent>(
  pages: ObjectPages<Settings, Sent>,
  c: RequestContext,
  deps: AppDeps,
  slug: string,
  body: JsonFields,
): Promise<PutObject<Settings>> {
  const made = madeBy(c, deps);
  const { team } = c.get("principal");
  const { settings, version } = pages.of.parse(body, made.at);
  return await storeOf(pages, deps).put(team, slug, settings, version, made);
}

/** Returns the route that enables or disables an object; {@link enableColumn} has its buttons. */
export function enableRoute<Settings, Sent>(pages: ObjectPages<Settings, Sent>): PageRoute {
  const { of, listPath } = pages;
  const enable = ofObject(pages, async (c, deps, object) => {
    const { shape } = schemaOf(of, formOf(pages, object));
    const sent = Object.entries(of.fieldsOf(object.settings)).filter(([name]) => name in shape);
    const enabled = c.get("form").get("enabled") === "true";
    const body = { ...Object.fromEntries(sent), enabled, version: object.version };
    await put(pages, c, deps, object.slug, body);
    return seeOther(listPath);
  });
  return post(`${listPath}/:slug/enabled`, enable, admin);
}

/** Returns the routes of a kind below its list: one object, its new form, changes, and deletion. */
export function objectRoutes<Settings, Sent>(
  pages: ObjectPages<Settings, Sent>,
  show?: Handler,
): readonly PageRoute[] {
  const { of, listPath, variants, open, trial, done, removed = DELETED } = pages;
  const { kind } = of;
  /** Shows the form of a new object; before that, the variants to choose from. */
  const showNew: Handler = async (c, deps) => {
    const [form, frame] = await Promise.all([open(c, deps), frameOf(pages, c, deps)]);
    const variant = of.variants?.field;
    const chosen = variant && c.req.query(variant);
    if (variants === undefined || chosen !== undefined) {
      const body = { ...variant && { [variant]: chosen }, ...form.empty, version: 0 };
      return showPage(c, frame(formView(pages, form, filledForm(of, body))));
    }
    const body = (
      <Section title={`Kind of ${kind}`}>
        <VariantLinks of={pages} />
      </Section>
    );
    const crumbs = <ObjectCrumbs of={pages} />;
    return showPage(c, frame({ title: `New ${kind}`, crumbs, body }));
  };
  const readSent = async (c: RequestContext, deps: AppDeps, isTrial = false) => {
    const [openForm, frame] = await Promise.all([open(c, deps), frameOf(pages, c, deps)]);
    const form = submitted(c.get("form"));
    const show = (sent: SentForm) => frame(formView(pages, openForm, form, { isTrial, ...sent }));
    showFormOnProblem(c, (problem) => show({ problem }));
    checkDurations(form);
    return { form, show };
  };
  const submit: Handler = async (c, deps) => {
    const { form } = await readSent(c, deps);
    const slug = form.get("slug") ?? "";
    if (!isConfigSlug(slug)) throw new Refused(WRONG_SLUG);
    const body = pages.bodyOf?.(form, deps.environment.now()) ?? bodyIn(schemaOf(of, form), form);
    const result = await put(pages, c, deps, slug, body);
    return done?.(c, deps, slug, result) ?? seeOther(listPath + SAVED);
  };
  const remove = ofObject(pages, async (c, deps, { slug }) => {
    const { team } = c.get("principal");
    const object = await storeOf(pages, deps).remove(team, slug, madeBy(c, deps));
    existing(object, noSuch(kind));
    return seeOther(listPath + removed);
  });
  const tryForm: Handler = async (c, deps) => {
    const { form, show } = await readSent(c, deps, true);
    return showPage(c, show({ tried: await trial?.run(c, deps, form) }));
  };
  return [
    ...show === undefined ? [] : [get(`${listPath}/:slug`, show)],
    get(newPathOf(pages), showNew, admin),
    post(listPath, submit, admin),
    ...trial === undefined ? [] : [post(trialPathOf(pages), tryForm, admin)],
    post(`${listPath}/:slug/delete`, remove, admin),
  ];
}

/** Links to the forms of all variants, each with its explanation. */
export function VariantLinks<Settings, Sent>({ of }: { readonly of: ObjectPages<Settings, Sent> }) {
  const { variants = {}, of: { variants: { field } = { field: "" } } } = of;
  return (
    <ul class="pick">
      {Object.entries(variants).map(([variant, [name, words]]) => (
        <li>
          <a class="row" href={newPathOf(of) + queryText([[field, variant]])}>
            {name}
          </a>
          <small class="under">{words}</small>
        </li>
      ))}
    </ul>
  );
}

/** Returns the list of a kind as a page, with the routes below it. */
export function objectsPage<Settings, Sent>(
  pages: ObjectPages<Settings, Sent>,
  list: Handler,
  show?: Handler,
  more: Pick<DashboardPage, "menu" | "routes"> = {},
): DashboardPage {
  const routes = [...objectRoutes(pages, show), ...more.routes ?? []];
  return { ...more, path: pages.listPath, access: teamKey("read"), handler: list, routes };
}
