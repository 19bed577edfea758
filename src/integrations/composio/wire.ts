import { z } from "zod";

// What Composio answers, as far as it is used. Fields that are not named here are dropped where they arrive:
// an account's `state`, which holds masked credentials, goes no further than the parser.

const Slug = z.string().regex(/^[\w.-]{1,100}$/);
const Schema = z.record(z.string(), z.unknown());

const page = <S extends z.ZodType>(item: S) =>
  z.object({ items: z.array(item), next_cursor: z.string().nullish() });

const Toolkit = z.object({ slug: Slug });

export const ToolPage = page(
  z.object({
    slug: z
      .string()
      .regex(/^[A-Z][A-Z0-9_]*$/)
      .max(64)
      .nullable()
      .catch(null),
    name: z.string().catch(""),
    description: z.string().nullish().catch(null),
    toolkit: Toolkit,
    input_parameters: Schema.catch({}),
    no_auth: z.boolean().nullish().catch(null),
    version: z.string().nullish().catch(null),
  }),
);

export const AuthConfigPage = page(
  z.object({ id: z.string().min(1), toolkit: Toolkit, status: z.string().nullish() }),
);

export const Execution = z.object({
  data: z.unknown(),
  error: z.unknown(),
  successful: z.boolean(),
});

export const FailedData = z.object({
  status_code: z.number().nullish().catch(null),
  message: z.string().nullish().catch(null),
});

export const AccountPage = page(
  z.object({
    id: z.string().min(1),
    toolkit: Toolkit,
    status: z.string(),
    is_disabled: z.boolean().nullish(),
    auth_config: z.object({ is_disabled: z.boolean().nullish() }).nullish(),
    user_id: z.string().nullish(),
    created_at: z.string().nullish(),
  }),
);
export type WireAccount = z.infer<typeof AccountPage>["items"][number];

export const Link = z.object({
  redirect_url: z.url({ protocol: /^https?$/ }),
  expires_at: z.string(),
  connected_account_id: z.string(),
});

export const WireTriggerType = z.object({
  slug: Slug,
  name: z.string().catch(""),
  description: z.string().nullish().catch(null),
  instructions: z.string().nullish().catch(null),
  type: z.enum(["webhook", "poll"]).catch("webhook"),
  toolkit: Toolkit,
  config: Schema.nullish().catch(null),
  payload: Schema.nullish().catch(null),
});
export const TriggerTypePage = page(WireTriggerType);

/** A 204 has no body. */
export const Upserted = z.object({ trigger_id: z.string().min(1) }).nullable();

export const TriggerPage = page(
  z.object({
    id: z.string().min(1),
    uuid: z.string().nullish().catch(null),
    connected_account_id: z.string(),
    trigger_name: z.string(),
    trigger_config: Schema.nullish().catch(null),
    user_id: z.string().nullish().catch(null),
    disabled_at: z.string().nullish(),
  }),
);

export const Subscription = z.object({
  id: z.string().min(1),
  webhook_url: z.string(),
  version: z.string().nullish(),
  enabled_events: z.array(z.string()).catch([]),
  secret: z.string().nullish(),
});
export const SubscriptionPage = page(Subscription);
