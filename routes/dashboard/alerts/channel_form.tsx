/** The form of a channel: one for each type. */
import type { Child } from "hono/jsx";
import {
  ALL_EVENTS,
  type ChannelType,
  PAGERDUTY_REGIONS,
} from "../../../domain/channels/channel.ts";
import { MESSAGE_EVENTS } from "../../../domain/channels/message.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import {
  atFormField,
  CheckBoxes,
  Field,
  formFields,
  FormProblem,
  IdentityFields,
  Select,
} from "../components/form_fields.tsx";
import { type ChannelTexts, FORM_NAMES } from "./channel_texts.ts";
import { channelPath, CHANNELS_PATH } from "./paths.ts";

interface ChannelFormProps {
  readonly texts: ChannelTexts;
  readonly problem: Problem | null;
  /** True if the channel exists: its secrets may stay empty. */
  readonly exists: boolean;
}

export function ChannelForm({ texts, problem: found, exists }: ChannelFormProps) {
  const problem = atFormField(found);
  const { type } = texts;
  const field = formFields(texts.texts, problem);
  return (
    <form
      class="narrow"
      method="post"
      action={exists ? channelPath(texts.texts.slug ?? "") : CHANNELS_PATH}
    >
      <FormProblem problem={problem} fields={FORM_NAMES} />
      <input type="hidden" name="type" value={type} />
      <IdentityFields
        texts={texts.texts}
        exists={exists}
        placeholder={`ops-${type}`}
        problem={problem}
      />
      {FIELDS[type]({ texts, problem, exists, field })}
      <fieldset class="choices">
        <legend>Messages</legend>
        {CHOICES.map(([name, label]) => (
          <label>
            <input
              type="checkbox"
              name={name}
              value="true"
              checked={texts.texts[name] === "true"}
            />
            {label}
          </label>
        ))}
      </fieldset>
      <button type="submit" class="btn main">{exists ? "Save" : "Create channel"}</button>
    </form>
  );
}

const CHOICES = [
  ["default", "Default: rules without channels of their own use it"],
  ["include_error", "Include the first 200 characters of a run's error"],
  ["enabled", "Enabled"],
] as const;

interface FieldsProps extends ChannelFormProps {
  readonly field: ReturnType<typeof formFields>;
}

/** The fields of each type. */
const FIELDS: Readonly<Record<ChannelType, (props: FieldsProps) => Child>> = {
  webhook: (props) => (
    <>
      <Secret
        {...props}
        name="url"
        label="Address"
        placeholder="https://example.com/hooks/runledger"
      />
      <CheckBoxes
        name="events"
        label="Events"
        options={EVENTS}
        chosen={props.texts.events}
        problem={props.problem}
      />
      <Field
        {...props.field("headers")}
        label="Headers"
        rows={2}
        hint="One a line, such as X-Team: billing. Their values are shown to your team."
      />
      {!props.exists && (
        <p class="soft">
          Requests are signed (Standard Webhooks). The secret is shown once, on the next page.
        </p>
      )}
    </>
  ),
  email: ({ field }) => (
    <Field
      {...field("to")}
      label="Recipients"
      required
      placeholder="ops@example.com"
      hint="At most 10, by commas."
    />
  ),
  slack: (props) => (
    <Secret
      {...props}
      name="url"
      label="Address of the incoming webhook"
      placeholder="https://hooks.slack.com/services/…"
      hint="For Discord, the address of its webhook with /slack at the end."
    />
  ),
  mattermost: (props) => (
    <Secret
      {...props}
      name="url"
      label="Address of the incoming webhook"
      placeholder="https://mattermost.example.com/hooks/…"
    />
  ),
  pagerduty: (props) => (
    <div class="fields">
      <Secret {...props} name="routing_key" label="Routing key" placeholder="" />
      <Select
        {...props.field("region", "us")}
        label="Region"
        options={PAGERDUTY_REGIONS.map((name) => [name, name.toUpperCase()] as const)}
      />
    </div>
  ),
};

const EVENTS = [
  [ALL_EVENTS, "All of incidents"] as const,
  ...MESSAGE_EVENTS.filter((name) => name !== "channel.test")
    .map((name) => [name, name] as const),
];

interface SecretProps extends FieldsProps {
  readonly name: "url" | "routing_key";
  readonly label: string;
  readonly placeholder: string;
  readonly hint?: string;
}

/** A field of a secret, which is never filled in. */
function Secret({ name, label, placeholder, hint, field, exists }: SecretProps) {
  return (
    <Field
      {...field(name)}
      label={label}
      required={!exists}
      placeholder={exists ? "unchanged" : placeholder}
      hint={exists ? "Stored encrypted. Empty: it stays as it is." : hint}
    />
  );
}
