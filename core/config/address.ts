/** Addresses with a name and a password in them, taken apart so that no error text can repeat them. */

/** How to write what an address cannot hold as it is. */
export const percentEncodeHint =
  "percent-encode what is special in user and password (% is %25, # is %23, / is %2F, ? is %3F, @ is %40)";

/** Characters that `URL` drops without a word, and with them a part of the password. */
export function holdsControls(text: string): boolean {
  return /\p{Cc}/u.test(text);
}

/** User and password of an address as they were meant, or `undefined` if they are not well encoded. */
export function userInformation(
  url: URL,
): { readonly user: string; readonly password: string } | undefined {
  try {
    return { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
  } catch {
    return undefined; // URIError: a % that begins no character
  }
}
