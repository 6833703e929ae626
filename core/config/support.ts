/** The support contact that pages and mails show, if the operator has set one. */
import { parseUrl } from "../lib/runtime/mod.ts";
import { normaliseEmail } from "../people/accounts/email_address.ts";

/** The contact to which customers turn. */
export interface SupportContact {
  /** The contact as text, also for places without links. */
  readonly text: string;
  /** The contact as a link. */
  readonly href: string;
}

type ReadSupport =
  | { readonly ok: true; readonly support: SupportContact }
  | { readonly ok: false; readonly problem: string };

/**
 * Reads `GATEWAY_SUPPORT`: an e-mail address, or an https address of a page.
 *
 * @example
 * ```ts
 * import { readSupport } from "./support.ts";
 * const mail = readSupport("help@gw.example");
 * if (!mail.ok || mail.support.href !== "mailto:help@gw.example") throw new Error("no mail");
 * const page = readSupport("https://gw.example/help");
 * if (!page.ok || page.support.text !== "https://gw.example/help") throw new Error("no page");
 * if (readSupport("http://gw.example").ok || readSupport("0900 000 000").ok) throw new Error("accepted");
 * ```
 */
export function readSupport(text: string): ReadSupport {
  const email = normaliseEmail(text);
  if (email !== undefined) return { ok: true, support: { text: email, href: mailtoOf(email) } };
  const url = parseUrl(text.trim());
  if (url?.protocol !== "https:" || url.username !== "" || url.password !== "") {
    return { ok: false, problem: "must be an e-mail address or an https address" };
  }
  return { ok: true, support: { text: url.href, href: url.href } };
}

/**
 * Encodes an address as a `mailto:` link; `?`, `&` and `%` are allowed in the address and not in
 * the link.
 */
function mailtoOf(email: string): string {
  return `mailto:${encodeURIComponent(email).replace("%40", "@")}`;
}
