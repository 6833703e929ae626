/**
 * Recorded exchanges of real providers, from the folder named by the environment variable WIRE_FIXTURES. The project
 * contains none; without the folder the conformance suite reports that and checks nothing.
 *
 * Layout: `<style>/<name>.json` holds `{method, host, path, status, request, response}`; a stream is `<name>.sse` with
 * `<name>.request.json` beside it where the request was recorded. Failures are in `errors/`.
 */
import type { ProviderStyle, Style } from "../../core/wire/contract/contract.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";

export const styles: readonly Style[] = ["messages", "chat", "responses", "gemini"];

export interface Recording {
  /** `messages/text-stream`. */
  readonly name: string;
  readonly style: Style;
  readonly status: number;
  readonly request?: JsonObject;
  readonly answer?: Json;
  readonly stream?: Uint8Array;
}

/** The folder of the recordings, or `undefined` if there is none. */
export function recordingsFolder(): string | undefined {
  const folder = Deno.env.get("WIRE_FIXTURES");
  return folder === undefined || folder === "" ? undefined : folder;
}

/** Returns the styles other than `style`, to which it can be converted. */
export function otherStyles(style: Style): Style[] {
  return styles.filter((other) => other !== style);
}

/** Returns the styles of providers to which a request of `style` can be converted. */
export function targetStyles(style: Style): ProviderStyle[] {
  return [...otherStyles(style), "converse"];
}

/** All recordings of one sub-folder, by name. `styleOf` returns the style of each. */
export function readRecordings(
  folder: string,
  subFolder: string,
  styleOf: (name: string) => Style,
): Recording[] {
  const files = [...Deno.readDirSync(`${folder}/${subFolder}`)].map((entry) => entry.name).sort();
  const names = new Set(files.map((file) => file.replace(/(\.request)?\.json$|\.sse$/, "")));
  return [...names].map((name) => {
    const path = `${folder}/${subFolder}/${name}`;
    const exchange = readExchange(path, files, name);
    const { request, response, status } = exchange;
    return {
      name: `${subFolder}/${name}`,
      style: styleOf(name),
      status: typeof status === "number" ? status : 200,
      ...(isJsonObject(request) ? { request } : {}),
      ...(response === undefined || response === null ? {} : { answer: response }),
      ...(files.includes(`${name}.sse`) ? { stream: Deno.readFileSync(`${path}.sse`) } : {}),
    };
  });
}

function readExchange(path: string, files: readonly string[], name: string): JsonObject {
  for (const ending of [".json", ".request.json"]) {
    if (!files.includes(name + ending)) continue;
    const value: Json = JSON.parse(Deno.readTextFileSync(path + ending));
    if (isJsonObject(value)) return value;
  }
  return {};
}

/** Registers the tests of a suite, or one skipped test that states why there are none. */
export function describeRecordings(
  suite: string,
  register: (recordings: readonly Recording[], folder: string) => void,
): void {
  const folder = recordingsFolder();
  if (folder === undefined) {
    Deno.test({ name: `${suite}: WIRE_FIXTURES is not set`, ignore: true, fn: () => {} });
    return;
  }
  register(readAllRecordings(folder), folder);
}

/** Returns the recordings of all styles in a folder. */
export function readAllRecordings(folder: string): Recording[] {
  const present = new Set([...Deno.readDirSync(folder)].map((entry) => entry.name));
  return styles.filter((style) => present.has(style))
    .flatMap((style) => readRecordings(folder, style, () => style));
}

/** Chunks of `bytes` cut at `places`. */
export function cutBytes(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const sorted = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) =>
    a - b
  );
  const chunks: Uint8Array[] = [];
  let from = 0;
  for (const place of [...sorted, bytes.length]) {
    if (place > from) chunks.push(bytes.slice(from, place));
    from = Math.max(from, place);
  }
  return chunks;
}
