/**
 * The signed links by which a reader switches off a kind of mail without signing in.
 *
 * A link permits nothing else, works as long as the master key that signed it is configured, and names its reader by an
 * id. So it may stand in the address that mail clients send a POST to (RFC 8058).
 */
import { type AccountId, parseId } from "../../lib/ids/ids.ts";
import { hashSecret } from "../accounts/secret_token.ts";
import { checkSignature, type MasterKeys, signText } from "../api_keys/seal.ts";
import type { MailKind } from "./mail.ts";
import { isMailKind } from "./mail_kinds.ts";

/** The page of the links. */
export const switchOffPath = "/mails/off";

/** Characters of a token that is read; those of the gateway have some 120. */
const maxTokenChars = 300;

/** The reader of mails: the owner of an account, or a subscriber by the hash of the address. */
export type MailSubject =
  | { readonly kind: "account"; readonly accountId: AccountId }
  | { readonly kind: "subscriber"; readonly addressHash: string };

/** Mails that a link switches off. */
export interface SwitchOff {
  readonly subject: MailSubject;
  readonly mailKind: MailKind;
}

/** Returns the hash under which the address of a subscriber is kept. */
export function subscriberHash(email: string): Promise<string> {
  return hashSecret("status-subscriber", email);
}

const subscriberPrefix = "sub_";

function textOf({ subject, mailKind }: SwitchOff): string {
  const name = subject.kind === "account"
    ? subject.accountId
    : `${subscriberPrefix}${subject.addressHash}`;
  return `${name}.${mailKind}`;
}

/** Text that is signed: no other signature of the gateway is one of a link. */
const signed = (text: string) => `switch off mails ${text}`;

/**
 * Makes the token of a link.
 *
 * @example
 * ```ts
 * import { newId } from "../../lib/ids/ids.ts";
 * import { newMasterKey, readMasterKeys } from "../api_keys/seal.ts";
 * import { readSwitchOffToken, switchOffToken } from "./switch_off.ts";
 * const keys = await readMasterKeys(newMasterKey());
 * const subject = { kind: "account", accountId: newId("account", 0) } as const;
 * const token = await switchOffToken(keys, { subject, mailKind: "low_balance" });
 * if ((await readSwitchOffToken(keys, token))?.mailKind !== "low_balance") throw new Error("refused");
 * const forged = token.replace("low_balance", "bonus_credited");
 * if (await readSwitchOffToken(keys, forged) !== undefined) throw new Error("accepted");
 * ```
 */
export async function switchOffToken(keys: MasterKeys, what: SwitchOff): Promise<string> {
  const text = textOf(what);
  return `${text}.${await signText(keys, signed(text))}`;
}

/** Reads the token of a link; `undefined` if the gateway did not sign it. */
export async function readSwitchOffToken(
  keys: MasterKeys,
  token: string,
): Promise<SwitchOff | undefined> {
  if (token.length > maxTokenChars) return undefined;
  const [name = "", mailKind = "", ...signature] = token.split(".");
  if (!isMailKind(mailKind)) return undefined;
  const check = await checkSignature(keys, signed(`${name}.${mailKind}`), signature.join("."));
  if (check.kind !== "valid") return undefined;
  if (name.startsWith(subscriberPrefix)) {
    const addressHash = name.slice(subscriberPrefix.length);
    return { subject: { kind: "subscriber", addressHash }, mailKind };
  }
  const accountId = parseId("account", name);
  return accountId === undefined
    ? undefined
    : { subject: { kind: "account", accountId }, mailKind };
}
