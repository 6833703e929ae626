/**
 * Reads what a client names for a provider to fetch. Providers read a text by the URL standard or more leniently, so
 * that this reader drops what the standard drops: controls and white space before the URL, tabs and line breaks within.
 */
import { parseRemoteUrl, type RemoteUrlProblem } from "./remote_url.ts";

/** Characters that decide what a text is: the longest scheme of the tables below, with what follows it. */
const beginningChars = 64;

/** Characters of a host with user name and port; whatever is longer is data. */
const maxAuthorityChars = 512;

/** Schemes of data, and of files that a provider keeps: no connection is made to a host that the client chooses. */
const keptSchemes: ReadonlySet<string> = new Set(["data", "gs", "s3", "oss", "ms", "asset"]);

/** Schemes that reach files or hosts without `//`; the last ones hide another URL. */
const reachingSchemes: ReadonlySet<string> = new Set([
  "file",
  "ftp",
  "ws",
  "wss",
  "gopher",
  "dict",
  "ldap",
  "ldaps",
  "tftp",
  "sftp",
  "netdoc",
  "jar",
  "url",
  "view-source",
]);

const scheme = /^[a-z][a-z0-9+.-]*(?=:)/i;
const slashes = /^[/\\]{2}/;

/**
 * Returns the first characters that the URL standard looks at; white space that other parsers trim is dropped, too.
 *
 * @example
 * ```ts
 * import { beginningOfUrl } from "./named_url.ts";
 * if (beginningOfUrl("\u0001 ht\ttp://a") !== "http://a") throw new Error("read otherwise");
 * ```
 */
export function beginningOfUrl(text: string, maxChars = beginningChars): string {
  let kept = "";
  for (let at = firstOfUrl(text); at < text.length && kept.length < maxChars; at++) {
    const character = text.charAt(at);
    if (character !== "\t" && character !== "\n" && character !== "\r") kept += character;
  }
  return kept;
}

function firstOfUrl(text: string): number {
  const at = text.search(/[^\0-\x20\s]/);
  return at < 0 ? text.length : at;
}

/** Whether a text of which only the head is known may be a URL. */
export function mayBeUrl(head: string): boolean {
  const begins = beginningOfUrl(head);
  return begins.length < beginningChars || scheme.test(begins) || slashes.test(begins);
}

/**
 * Reads a text that a provider may fetch: a URL to a public server, why it is refused, or `undefined` for what is no URL
 * or leads to no server.
 *
 * @param isUrl the text is in a member that holds a URL: texts without a scheme, and unknown ones, are refused
 * @example
 * ```ts
 * import { readNamedUrl } from "./named_url.ts";
 * for (const inside of ["ht\ttp://127.0.0.1", "//localhost/a", "http:\\\\10.0.0.1", "gopher://a.example"]) {
 *   if (typeof readNamedUrl(inside, false) !== "string") throw new Error(inside);
 * }
 * if (readNamedUrl("// a comment", false) !== undefined) throw new Error("a comment is no URL");
 * ```
 */
export function readNamedUrl(text: string, isUrl: boolean): URL | RemoteUrlProblem | undefined {
  const begins = beginningOfUrl(text);
  const named = scheme.exec(begins)?.[0].toLowerCase();
  if (named === undefined) {
    if (slashes.test(begins)) return readHost(text, isUrl);
    // A path, a bare address or a character that is not seen: what the provider makes of it is not known.
    return isUrl && begins !== "" ? "must begin with http:// or https://" : undefined;
  }
  if (named === "http" || named === "https") {
    // Parsers disagree about the host of `http://a\@b`.
    if (text.includes("\\") && text.includes("@")) return "is not a URL";
    return parseRemoteUrl(text.slice(firstOfUrl(text)));
  }
  if (keptSchemes.has(named)) return undefined;
  return isUrl || reachingSchemes.has(named) || slashes.test(begins.slice(named.length + 1))
    ? "must begin with http:// or https://"
    : undefined;
}

/** Reads a URL without a scheme, `//host/path`. MP3 in base64 begins with two slashes, too, and names no such host. */
function readHost(text: string, isUrl: boolean): URL | RemoteUrlProblem | undefined {
  const begins = beginningOfUrl(text, maxAuthorityChars);
  const authority = /^[/\\]+([^/\\?#]*)/.exec(begins)?.[1] ?? "";
  const url = parseRemoteUrl(`http://${authority}`);
  if (isUrl) return url;
  if (url === "is not a URL") return undefined;
  return typeof url !== "string" && !/[.:]/.test(authority) ? undefined : url;
}
