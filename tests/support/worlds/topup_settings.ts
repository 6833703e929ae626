/** Settings for top-ups, with a receiving account and a tax rate. */
import { readTopupSettings, type TopupSettings } from "../../../core/trade/settings/settings.ts";
import { receivingAccount } from "./topup_world.ts";

export function topupSettings(change: Partial<TopupSettings> = {}): TopupSettings {
  const read = readTopupSettings({ GATEWAY_VAT_RATES: "2025-07-01=8,2027-01-01=10" });
  if (!read.ok) throw new Error(read.problems.join("\n"));
  return { ...read.settings, receivingAccounts: [receivingAccount], ...change };
}
