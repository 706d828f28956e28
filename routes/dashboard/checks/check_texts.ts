/** The fields of a check's form as texts, and the bodies of the API's calls that they stand for. */
import type { CheckSettings } from "../../../domain/checks/check.ts";
import { CONFIG_SLUG } from "../../../domain/config/objects.ts";
import type { Body } from "../../../domain/core/body.ts";
import { FINISH_STATUSES } from "../../../domain/runs/run.ts";
import { RUN_KINDS } from "../../../domain/runs/flags.ts";
import { bodyOf, listIn, readInteger, readTexts, type Texts } from "../components/form_fields.tsx";

/** The content of a check's form. */
export interface CheckTexts {
  /** Fields with one value. */
  readonly texts: Texts;
  /** Fields with several values. */
  readonly lists: Readonly<Record<string, readonly string[]>>;
}

const TEXT_NAMES = [
  "slug",
  "version",
  "expression",
  "description",
  "severity",
  "agents",
  "features",
  "sample",
  "enabled",
] as const;

const LIST_NAMES = ["kinds", "statuses"] as const;

/** Names of all fields, which show their own problems. */
export const FORM_NAMES: readonly string[] = [...TEXT_NAMES, ...LIST_NAMES];

/** Reads the submitted form. Browsers send lines that end with a carriage return as well. */
export function readCheckTexts(form: URLSearchParams): CheckTexts {
  const texts = readTexts(form, TEXT_NAMES);
  const expression = (texts["expression"] ?? "").replaceAll("\r\n", "\n");
  return {
    texts: { ...texts, expression },
    lists: Object.fromEntries(LIST_NAMES.map((name) => [name, form.getAll(name)])),
  };
}

/** Fills in the form of a new check; version 0 replaces no other one. */
export function newCheckTexts(given: Texts = {}): CheckTexts {
  const texts = { version: "0", severity: "fail", sample: "1", enabled: "true", ...given };
  return { texts, lists: { kinds: RUN_KINDS, statuses: FINISH_STATUSES } };
}

/** Fills in the form from a check. */
export function textsOfCheck(slug: string, settings: CheckSettings, version: number): CheckTexts {
  const { expression, description, severity, agents, features, sample, enabled } = settings;
  return {
    texts: {
      slug,
      version: String(version),
      expression,
      description: description ?? "",
      severity,
      agents: agents.join(", ").replace(/^\*$/, ""),
      features: features.join(", "),
      sample: String(sample),
      enabled: String(enabled),
    },
    lists: { kinds: settings.kinds, statuses: settings.statuses },
  };
}

/** Returns the settings as fields of the API's body; fields without text are absent. */
function settingsOf({ texts, lists }: CheckTexts): Record<string, unknown> {
  const text = (name: typeof TEXT_NAMES[number]) => texts[name] ?? "";
  const sample = text("sample");
  const fields = {
    expression: text("expression") || undefined,
    description: text("description") || undefined,
    severity: text("severity") || undefined,
    agents: listIn(text("agents")),
    features: listIn(text("features")),
    kinds: lists["kinds"],
    statuses: lists["statuses"],
    sample: sample === ""
      ? undefined
      : /^\d{0,2}\.?\d{1,9}$/.test(sample)
      ? Number(sample)
      : sample,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Returns the body of the API call that saves the form. */
export function bodyOfCheck(form: CheckTexts): Body {
  return bodyOf({
    ...settingsOf(form),
    enabled: form.texts["enabled"] === "true",
    version: readInteger(form.texts["version"] ?? ""),
  });
}

/** Returns the body of the API call that tries the form over the latest runs. */
export function bodyOfTrial(form: CheckTexts, last: number): Body {
  const { slug = "" } = form.texts;
  return bodyOf({
    check: { ...settingsOf(form), ...CONFIG_SLUG.test(slug) ? { slug } : {} },
    last,
  });
}
