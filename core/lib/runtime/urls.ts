/** `URL.parse`, which Node 20 lacks. */

/** The URL that a text is, alone or relative to `base`, or `null`. */
export function parseUrl(text: string, base?: URL): URL | null {
  return URL.canParse(text, base) ? new URL(text, base) : null;
}
