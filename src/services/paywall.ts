import type { Context } from "../context.js";
import { ApiError } from "../errors.js";
import type { PaywallReplace, PaywallResponse } from "../schemas/paywall.js";
import type { QrGet } from "../schemas/qr.js";
import { findQr, qrTable } from "./qr-rows.js";

/** The paywall of a QR code, a draft's too. Throws RESOURCE_NOT_FOUND. */
export async function getPaywall(ctx: Context, input: QrGet): Promise<PaywallResponse> {
  const row = await findQr(ctx, input.short_id);
  return {
    paywall_enabled: row.paywallEnabled,
    paywall_price_cents: row.paywallPriceCents,
    paywall_currency: row.paywallCurrency,
    paywall_product_name: row.paywallProductName,
  };
}

/** Replaces the paywall: no version, no idempotency, no audit (operation rule 7). Throws RESOURCE_NOT_FOUND. */
export async function replacePaywall(ctx: Context, input: PaywallReplace): Promise<PaywallResponse> {
  const { short_id: shortId, ...paywall } = input;
  const row = await findQr(ctx, shortId);
  const set = qrTable.assign({
    paywallEnabled: paywall.paywall_enabled,
    paywallPriceCents: paywall.paywall_price_cents,
    paywallCurrency: paywall.paywall_currency,
    paywallProductName: paywall.paywall_product_name,
  });
  const text = `UPDATE qr_codes SET ${set.text} WHERE id = ? AND deleted_at IS NULL`;
  const { affected } = await ctx.sql.run(text, [...set.values, row.id]);
  if (affected === 0) throw new ApiError("RESOURCE_NOT_FOUND");
  return paywall;
}
