/** Links that open a bank's app with a transfer filled in, by VietQR's service. */
import type { ReceivingAccount } from "./receiving_account.ts";

/** A bank whose app can be opened. */
export interface BankApp {
  readonly name: string;
  readonly href: string;
}

/** VietQR's codes of banks, by BIN. */
const bankCodes: ReadonlyMap<string, string> = new Map([
  ["970403", "stb"],
  ["970405", "vba"],
  ["970407", "tcb"],
  ["970415", "icb"],
  ["970416", "acb"],
  ["970418", "bidv"],
  ["970422", "mb"],
  ["970423", "tpb"],
  ["970426", "msb"],
  ["970432", "vpb"],
  ["970436", "vcb"],
  ["970437", "hdb"],
  ["970441", "vib"],
  ["970443", "shb"],
  ["970448", "ocb"],
]);

/** The apps that are offered: those of the banks with the most customers. */
const apps: readonly (readonly [code: string, name: string])[] = [
  ["vcb", "Vietcombank"],
  ["mb", "MB Bank"],
  ["tcb", "Techcombank"],
  ["icb", "VietinBank"],
  ["bidv", "BIDV"],
  ["vba", "Agribank"],
  ["acb", "ACB"],
  ["vpb", "VPBank"],
  ["tpb", "TPBank"],
  ["ocb", "OCB"],
];

/**
 * Lists the links for a transfer; none if the receiving bank has no code.
 *
 * @example
 * ```ts
 * import { bankApps } from "./bank_apps.ts";
 * const to = { bin: "970422", bankName: "MB", account: "0123", holder: "CONG TY A" };
 * const [first] = bankApps(to, { amountVnd: 50_000n, memo: "NAP 7" });
 * if (!first?.href.endsWith("?app=vcb&ba=0123%40mb&am=50000&tn=NAP+7&bn=CONG+TY+A")) throw new Error(first?.href);
 * ```
 */
export function bankApps(
  { bin, account, holder }: Pick<ReceivingAccount, "bin" | "account" | "holder">,
  { amountVnd, memo }: { readonly amountVnd: bigint; readonly memo: string },
): readonly BankApp[] {
  const bank = bankCodes.get(bin);
  if (bank === undefined) return [];
  return apps.map(([app, name]) => {
    const query = new URLSearchParams({
      app,
      ba: `${account}@${bank}`,
      am: amountVnd.toString(),
      tn: memo,
      bn: holder,
    });
    return { name, href: `https://dl.vietqr.io/pay?${query}` };
  });
}
