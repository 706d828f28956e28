/**
 * Pages of configured objects: list, form, one object, deletion. Each submission is the same as the
 * API's call.
 *
 * @module
 */
import type { Child } from "hono/jsx";
import { isConfigSlug } from "../../../domain/config/body.ts";
import type { ConfigObject, ObjectKind, PutObject } from "../../../domain/config/objects.ts";
import type { JsonFields } from "../../../domain/core/body.ts";
import { existing, Refused } from "../../../domain/core/errors.ts";
import { noSuch } from "../../api/objects.ts";
import { teamKey } from "../../http/access.ts";
import { madeBy } from "../../http/context.ts";
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
  type PageHandler,
  type PageRoute,
  post,
  seeOther,
  type View,
  type Visit,
} from "../layout/page.tsx";
import { objectsPath, queryText } from "../layout/paths.ts";
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
  readonly listPath: string;
  /** Adds tabs or explanations to the pages. */
  readonly frame?: (visit: Visit) => Frame | Promise<Frame>;
  /** Name and explanation of each variant, which has a form of its own; absent if all are alike. */
  readonly variants?: Readonly<Record<string, readonly [name: string, words: string]>>;
  /** Reads what the form offers. */
  readonly open: (visit: Visit) => PageForm | Promise<PageForm>;
  /** Returns the fields that the form of a stored object begins with; those of its settings when absent. */
  readonly fieldsOf?: (settings: Settings) => JsonFields;
  /** Converts a form whose fields are not those of the body. */
  readonly bodyOf?: (form: FormValues, nowMs: number) => JsonFields;
  /** A dry run of the form as it is typed, which shows what it found; absent for kinds without one. */
  readonly trial?: {
    readonly label: string;
    readonly run: (visit: Visit, form: FormValues) => Promise<Child>;
  };
  /** Notice of the list after a deletion; {@link DELETED} when absent. */
  readonly removed?: string;
  /** Responds to a change; leads to the list when absent. */
  readonly done?: (visit: Visit, put: PutObject<Settings>) => ReturnType<PageHandler>;
}

type Frame = (view: View) => View;

export interface PageForm extends OpenForm {
  /** Puts explanations around the form. */
  readonly around?: (form: Child) => Child;
}

/** Declares the pages of a kind. */
export function objectPages<Settings, Sent>(
  of: ObjectKind<Settings, Sent>,
  pages: Omit<ObjectPages<Settings, Sent>, "of" | "listPath">,
): ObjectPages<Settings, Sent> {
  return { ...pages, of, listPath: objectsPath(of.kind) };
}

/** The kind of some pages, and their paths. */
export type Named = Pick<ObjectPages<never, never>, "listPath"> & {
  readonly of: Pick<ObjectKind<never, never>, "kind">;
};

/** Returns what puts a page into the frame of its kind. */
export async function frameOf(
  { frame }: { readonly frame?: ObjectPages<never>["frame"] },
  visit: Visit,
): Promise<Frame> {
  return await frame?.(visit) ?? ((view) => view);
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
    body: around([
      words !== undefined && <p class="soft">{words}</p>,
      <ObjectForm {...{ pages, open, form }} {...sent} />,
    ]),
  };
}

/** Builds a handler of the object that the path names. */
export function ofObject<Settings, Sent>(
  pages: ObjectPages<Settings, Sent>,
  handle: (visit: Visit, object: ConfigObject<Settings>) => ReturnType<PageHandler>,
): PageHandler {
  return async (visit) => {
    const slug = visit.c.req.param("slug") ?? "";
    const object = isConfigSlug(slug)
      ? await visit.deps.objects(pages.of).read(visit.team, slug)
      : null;
    return handle(visit, existing(object, noSuch(pages.of.kind)));
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
  { c, isAdmin }: Visit,
  pages: Named,
  slug: string,
  { subtitle, buttons, deletion, body }: ObjectPage,
): View {
  const { of: { kind } } = pages;
  const path = pathOf(pages, slug);
  const confirm = c.req.query("confirm");
  return {
    title: slug,
    subtitle,
    crumbs: <ObjectCrumbs of={pages} />,
    aside: isAdmin && confirm === undefined
      ? [
        buttons,
        <ConfirmLink path={path} action="delete" label="Delete…" />,
      ]
      : null,
    body: [
      <Done c={c} />,
      isAdmin && confirm === "delete" && (
        <ConfirmForm
          action={`${path}/delete`}
          title={`Delete the ${kind} “${slug}”?`}
          submit={`Delete ${kind}`}
          cancelTo={path}
        >
          <p>{deletion}</p>
        </ConfirmForm>
      ),
      body,
    ],
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
  describe: (object: ConfigObject<Settings>, visit: Visit) => Description | Promise<Description>,
): PageHandler {
  return ofObject(pages, async (visit, object) => {
    const { isAdmin } = visit;
    const open = await pages.open(visit);
    const { subtitle, facts, below } = await describe(object, visit);
    const form = isAdmin && <ObjectForm pages={pages} open={open} form={formOf(pages, object)} />;
    const state = [
      <Section title="Now">
        <KeyValues pairs={facts} />
      </Section>,
      below,
      isAdmin && <Section title="Settings">{form}</Section>,
    ];
    const plain = form || <KeyValues pairs={facts} />;
    const body = below === undefined ? plain : state;
    const frame = await frameOf(pages, visit);
    return frame(objectView(visit, pages, object.slug, { subtitle, deletion, body }));
  });
}

const admin = teamKey("admin");

/** Makes the API's call that sets an object. */
async function put<Settings, Sent>(
  pages: ObjectPages<Settings, Sent>,
  visit: Visit,
  slug: string,
  body: JsonFields,
): Promise<PutObject<Settings>> {
  const made = madeBy(visit.c, visit.deps);
  const { settings, version } = pages.of.parse(body, made.at);
  return await visit.deps.objects(pages.of).put(visit.team, slug, settings, version, made);
}

/** Returns the route that enables or disables an object; {@link enableColumn} has its buttons. */
export function enableRoute<Settings, Sent>(pages: ObjectPages<Settings, Sent>): PageRoute {
  const { of, listPath } = pages;
  const enable = ofObject(pages, async (visit, object) => {
    const { shape } = schemaOf(of, formOf(pages, object));
    const sent = Object.entries(of.fieldsOf(object.settings)).filter(([name]) => name in shape);
    const enabled = visit.c.get("form").get("enabled") === "true";
    const body = { ...Object.fromEntries(sent), enabled, version: object.version };
    await put(pages, visit, object.slug, body);
    return seeOther(listPath);
  });
  return post(`${listPath}/:slug/enabled`, enable, admin);
}

/** Returns the routes of a kind below its list: one object, its new form, changes, and deletion. */
export function objectRoutes<Settings, Sent>(
  pages: ObjectPages<Settings, Sent>,
  show?: PageHandler,
): readonly PageRoute[] {
  const { of, listPath, variants, open, trial, done, removed = DELETED } = pages;
  const { kind } = of;
  /** Shows the form of a new object; before that, the variants to choose from. */
  const showNew: PageHandler = async (visit) => {
    const [form, frame] = await Promise.all([open(visit), frameOf(pages, visit)]);
    const variant = of.variants?.field;
    const chosen = variant && visit.c.req.query(variant);
    if (variants === undefined || chosen !== undefined) {
      const body = { ...variant && { [variant]: chosen }, ...form.empty, version: 0 };
      return frame(formView(pages, form, filledForm(of, body)));
    }
    const body = (
      <Section title={`Kind of ${kind}`}>
        <VariantLinks of={pages} />
      </Section>
    );
    return frame({ title: `New ${kind}`, crumbs: <ObjectCrumbs of={pages} />, body });
  };
  const readSent = async (visit: Visit, isTrial = false) => {
    const [openForm, frame] = await Promise.all([open(visit), frameOf(pages, visit)]);
    const form = submitted(visit.c.get("form"));
    const show = (sent: SentForm) => frame(formView(pages, openForm, form, { isTrial, ...sent }));
    visit.onProblem((problem) => show({ problem }));
    checkDurations(form);
    return { form, show };
  };
  const submit: PageHandler = async (visit) => {
    const { form } = await readSent(visit);
    const slug = form.get("slug") ?? "";
    if (!isConfigSlug(slug)) throw new Refused(WRONG_SLUG);
    const nowMs = visit.deps.environment.now();
    const body = pages.bodyOf?.(form, nowMs) ?? bodyIn(schemaOf(of, form), form);
    const result = await put(pages, visit, slug, body);
    return done?.(visit, result) ?? seeOther(listPath + SAVED);
  };
  const remove = ofObject(pages, async (visit, { slug }) => {
    const made = madeBy(visit.c, visit.deps);
    existing(await visit.deps.objects(pages.of).remove(visit.team, slug, made), noSuch(kind));
    return seeOther(listPath + removed);
  });
  const tryForm: PageHandler = async (visit) => {
    const { form, show } = await readSent(visit, true);
    return show({ tried: await trial?.run(visit, form) });
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
          <a class="row" href={newPathOf(of) + queryText([[field, variant]])}>{name}</a>
          <small class="under">{words}</small>
        </li>
      ))}
    </ul>
  );
}

/** Returns the list of a kind as a page, with the routes below it. */
export function objectsPage<Settings, Sent>(
  pages: ObjectPages<Settings, Sent>,
  list: PageHandler,
  show?: PageHandler,
  more: Pick<DashboardPage, "menu" | "routes"> = {},
): DashboardPage {
  const routes = [...objectRoutes(pages, show), ...more.routes ?? []];
  return { ...more, path: pages.listPath, access: teamKey("read"), handler: list, routes };
}
