import { z } from "zod";
import { text } from "./fields.js";
import { QrPath } from "./qr.js";

const CURRENCIES = new Set(Intl.supportedValuesOf("currency"));

const currency = z
  .string()
  .refine((value) => /^[A-Za-z]{3}$/.test(value) && CURRENCIES.has(value.toUpperCase()), {
    error: "Send an ISO 4217 currency code.",
  })
  .transform((value) => value.toLowerCase())
  .meta({
    description: "An ISO 4217 code, in any case; kept in lower case.",
    minLength: 3,
    maxLength: 3,
    example: "usd",
  });

const MAX_PRICE_CENTS = 99_999_999;

/** Body of PUT /v1/qr/{short_id}/paywall, with the path. It replaces all four: an absent field takes its default. */
export const PaywallReplace = z
  .strictObject({
    ...QrPath,
    paywall_enabled: z.boolean(),
    paywall_price_cents: z
      .int()
      .min(0)
      .max(MAX_PRICE_CENTS)
      .nullable()
      .default(null)
      .meta({ description: "The price in hundredths of the currency.", example: 250 }),
    paywall_currency: currency.default("usd"),
    paywall_product_name: text(1, 250, "What the visitor pays for.").nullable().default(null),
  })
  .meta({ title: "PaywallConfigUpdate" });
export type PaywallReplace = z.infer<typeof PaywallReplace>;

/** A paywall; every member is always there. */
export const PaywallResponse = z
  .strictObject({
    paywall_enabled: z.boolean(),
    paywall_price_cents: z.int().nullable().meta({ example: 250 }),
    paywall_currency: z.string().nullable().meta({ example: "usd" }),
    paywall_product_name: z.string().nullable().meta({ example: "A guided tour" }),
  })
  .meta({ id: "PaywallConfigResponse" });
export type PaywallResponse = z.infer<typeof PaywallResponse>;
