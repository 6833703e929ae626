/**
 * Reads and writes `multipart/form-data` (RFC 7578, RFC 2046) in memory: parts are views, one field
 * can be replaced in place, and reading a form copies no file.
 */
import { type ByteParts, withFewPieces } from "../../lib/bytes/byte_parts.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { singleWriteBytes } from "../../net/http1/heads.ts";

/** Parts of one form: 10 pictures and some 20 fields are the most that any endpoint knows. */
const maxFormParts = 64;

/** Bytes of the head of one part of a form: a name, a file name and a type. */
const maxFormPartHeadBytes = 4_096;

/** One part of a form. */
export interface FormPart {
  readonly name: string;
  /** Present on files, even if empty. */
  readonly fileName: string | undefined;
  readonly contentType: string | undefined;
  /** A view into the form. */
  readonly body: Uint8Array;
}

/** A part and the place of its body in the form. */
interface LocatedPart extends FormPart {
  readonly start: number;
  readonly end: number;
}

const utf8 = new TextDecoder();
const encoder = new TextEncoder();

function refuse(why: string): never {
  throw new GatewayError("invalid_request", `Cannot read the form: ${why}`);
}

/**
 * Returns the boundary of a `content-type`, or `undefined` if it is not `multipart/form-data`.
 *
 * @example
 * ```ts
 * import { multipartBoundary } from "./multipart.ts";
 * if (multipartBoundary('multipart/form-data; boundary="a b"') !== "a b") throw new Error("not read");
 * if (multipartBoundary("application/json") !== undefined) throw new Error("not a form");
 * ```
 *
 * @throws {GatewayError} `invalid_request` for a form without a usable boundary
 */
export function multipartBoundary(contentType: string): string | undefined {
  if (!/^\s*multipart\/form-data\s*(?:;|$)/i.test(contentType)) return undefined;
  const match = /;\s*boundary=(?:"([^"]*)"|([^\s;"]+))/i.exec(contentType);
  const boundary = match?.[1] ?? match?.[2] ?? "";
  // RFC 2046 section 5.1.1: 1 to 70 characters, printable.
  if (!/^[\x20-\x7e]{1,70}$/.test(boundary)) refuse("the boundary is missing or malformed");
  return boundary;
}

function matchesAt(bytes: Uint8Array, at: number, pattern: Uint8Array): boolean {
  if (at + pattern.length > bytes.length) return false;
  for (let i = 0; i < pattern.length; i++) {
    if (bytes[at + i] !== pattern[i]) return false;
  }
  return true;
}

/** Finds `pattern`, whose first byte is rare in text, at or after `from`; -1 if there is none. */
function indexOfBytes(bytes: Uint8Array, pattern: Uint8Array, from: number): number {
  const first = pattern[0]!;
  for (let at = bytes.indexOf(first, from); at >= 0; at = bytes.indexOf(first, at + 1)) {
    if (matchesAt(bytes, at, pattern)) return at;
  }
  return -1;
}

const blankLine = encoder.encode("\r\n\r\n");

function locateParts(bytes: Uint8Array, boundary: string): LocatedPart[] {
  const delimiter = encoder.encode(`\r\n--${boundary}`);
  const opening = delimiter.subarray(2);
  let at: number;
  if (matchesAt(bytes, 0, opening)) {
    at = opening.length; // the first delimiter may stand at the very start, without a line break before it
  } else {
    const first = indexOfBytes(bytes, delimiter, 0);
    if (first < 0) refuse("its boundary does not occur in it");
    at = first + delimiter.length;
  }
  const parts: LocatedPart[] = [];
  while (true) {
    if (bytes[at] === 0x2d && bytes[at + 1] === 0x2d) return parts; // "--": the end
    // Spaces may follow the boundary (RFC 2046, transport padding).
    while (bytes[at] === 0x20 || bytes[at] === 0x09) at++;
    if (bytes[at] !== 0x0d || bytes[at + 1] !== 0x0a) refuse("it ends too early");
    if (parts.length >= maxFormParts) refuse(`more than ${maxFormParts} parts`);
    const headStart = at + 2;
    // Only as many bytes as a head may have are searched, so a hostile form costs no more than its size.
    const headArea = bytes.subarray(at, headStart + maxFormPartHeadBytes);
    const headLength = indexOfBytes(headArea, blankLine, 0);
    if (headLength < 0) refuse("a part has no end of its headers");
    const start = at + headLength + blankLine.length;
    // An empty body has its delimiter directly after the blank line, whose line break belongs to
    // the delimiter.
    const end = indexOfBytes(bytes, delimiter, start - 2);
    if (end < 0) refuse("it ends too early");
    const bodyEnd = Math.max(end, start);
    const head = utf8.decode(bytes.subarray(headStart, at + headLength + 2));
    parts.push({ ...readHead(head), body: bytes.subarray(start, bodyEnd), start, end: bodyEnd });
    at = end + delimiter.length;
  }
}

function readHead(head: string): Omit<FormPart, "body"> {
  let disposition: ReadonlyMap<string, string> | undefined;
  let contentType: string | undefined;
  for (const line of head.split("\r\n")) {
    const colon = line.indexOf(":");
    const value = line.slice(colon + 1).trim();
    switch (line.slice(0, colon).trim().toLowerCase()) {
      case "content-disposition":
        if (disposition !== undefined) refuse("a part has two names");
        disposition = readParameters(value);
        break;
      case "content-type":
        contentType = value;
        break;
    }
  }
  const name = disposition?.get("name");
  if (disposition === undefined || name === undefined) refuse("a part has no name");
  const fileName = disposition.get("filename") ?? (disposition.has("filename*") ? "" : undefined);
  return { name, fileName, contentType };
}

/**
 * One parameter, with its value quoted or not. Browsers escape a quote as %22 (WHATWG HTML), older
 * clients as \".
 */
const parameterPattern = /;[ \t]*([^\s;="]+)=(?:"((?:[^"\\]|\\.)*)"|([^;\s"]*))[ \t]*/y;

/**
 * Reads all parameters of a `content-disposition` strictly: the form is forwarded unchanged, so a
 * name must not mean one thing here and another at the provider.
 */
function readParameters(value: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  let at = /^form-data[ \t]*/i.exec(value)?.[0].length ?? -1;
  while (at >= 0 && at < value.length) {
    parameterPattern.lastIndex = at;
    const match = parameterPattern.exec(value);
    const key = match?.[1]?.toLowerCase() ?? "";
    // Nothing but a trailing semicolon may be left.
    if (match === null && /^;[ \t]*$/.test(value.slice(at))) break;
    if (match === null || parameters.has(key) || key === "name*") at = -1;
    else {
      parameters.set(
        key,
        match[2]?.replace(/\\(["\\])/g, "$1").replaceAll("%22", '"') ?? match[3] ?? "",
      );
      at = parameterPattern.lastIndex;
    }
  }
  if (at < 0) refuse("the name of a part is malformed");
  return parameters;
}

/**
 * Reads a form. The bodies are views into `bytes`.
 *
 * @example
 * ```ts
 * import { readForm, writeForm } from "./multipart.ts";
 * const form = writeForm([{ name: "prompt", body: "a cat" }], "b");
 * const [part] = readForm(form.body, "b");
 * if (part?.name !== "prompt" || new TextDecoder().decode(part.body) !== "a cat") throw new Error("not read");
 * ```
 *
 * @throws {GatewayError} `invalid_request` for a form that is malformed or has too many parts
 */
export function readForm(bytes: Uint8Array, boundary: string): FormPart[] {
  return locateParts(bytes, boundary);
}

/** Decodes the text of a part. */
export function partText(part: FormPart): string {
  return utf8.decode(part.body);
}

/**
 * Replaces the body of the one field `name`; every other byte of the form stays, boundary and files
 * included.
 *
 * @throws {GatewayError} `invalid_request` if the form is malformed or does not have the field
 * exactly once
 */
export function replaceField(
  bytes: Uint8Array,
  boundary: string,
  field: { readonly name: string; readonly text: string },
): ByteParts {
  const found = locateParts(bytes, boundary).filter((part) => part.name === field.name);
  const [part] = found;
  if (part === undefined || found.length > 1) refuse(`${field.name} must occur exactly once`);
  const value = encoder.encode(field.text);
  // A value that contained the delimiter would end the part early; model names cannot, so this is a bug or an attack.
  if (indexOfBytes(value, encoder.encode(boundary), 0) >= 0) refuse("its boundary is ambiguous");
  const pieces = [bytes.subarray(0, part.start), value, bytes.subarray(part.end)];
  return withFewPieces(pieces, singleWriteBytes);
}

/** A part to write. */
export interface NewFormPart {
  readonly name: string;
  readonly body: string | Uint8Array;
  /** Makes the part a file. */
  readonly fileName?: string;
  readonly contentType?: string;
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A")}"`;
}

/** Writes a form. `boundary` must not occur in any value: use 24 or more random characters. */
export function writeForm(
  parts: readonly NewFormPart[],
  boundary: string,
): { readonly contentType: string; readonly body: Uint8Array<ArrayBuffer> } {
  const chunks: Uint8Array[] = [];
  for (const part of parts) {
    const file = part.fileName === undefined ? "" : `; filename=${quoted(part.fileName)}`;
    const type = part.contentType === undefined ? "" : `\r\ncontent-type: ${part.contentType}`;
    chunks.push(
      encoder.encode(
        `--${boundary}\r\ncontent-disposition: form-data; name=${
          quoted(part.name)
        }${file}${type}\r\n\r\n`,
      ),
      typeof part.body === "string" ? encoder.encode(part.body) : part.body,
      encoder.encode("\r\n"),
    );
  }
  chunks.push(encoder.encode(`--${boundary}--\r\n`));
  const body = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return { contentType: `multipart/form-data; boundary=${boundary}`, body };
}
