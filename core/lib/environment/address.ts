/** Addresses that contain a user and a password, parsed so that no error text repeats them. */

/** The hint for characters that an address cannot contain as they are. */
export const percentEncodeHint =
  "percent-encode what is special in user and password (% is %25, # is %23, / is %2F, ? is %3F, @ is %40)";

/**
 * Whether a text has control characters, which `URL` drops silently, and with them a part of the
 * password.
 */
export function holdsControls(text: string): boolean {
  return /\p{Cc}/u.test(text);
}

/** Decodes user and password of an address; `undefined` if they are not well encoded. */
export function userInformation(
  url: URL,
): { readonly user: string; readonly password: string } | undefined {
  try {
    return { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
  } catch {
    return undefined; // URIError: a % that begins no character
  }
}
