/** The files of `deploy/`, read as the programs that use them read them. */
import { parse, parseAllDocuments } from "yaml";
import { root, sourceText } from "./source_files.ts";

/** A service of a compose file, as far as tests look at it. */
export interface ComposeService {
  readonly image?: string;
  readonly build?: { readonly dockerfile: string };
  readonly extends?: { readonly file: string; readonly service: string };
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly depends_on?: unknown;
  readonly stop_grace_period?: string;
}

/** Paths of all files in `deploy/`. */
export function deployFiles(folder = "deploy"): readonly string[] {
  return Deno.readDirSync(new URL(`${folder}/`, root)).toArray().flatMap((entry) =>
    entry.isDirectory ? deployFiles(`${folder}/${entry.name}`) : [`${folder}/${entry.name}`]
  );
}

/** The only document of a YAML file. */
export function yamlFile(path: string): unknown {
  return parse(sourceText(path));
}

/** The documents of a file of manifests. */
export function manifests(path: string): readonly unknown[] {
  return parseAllDocuments(sourceText(path)).map((document) => document.toJS());
}

/** Services of a compose file by name, with what they take over from another file. */
export function composeServices(path: string): Readonly<Record<string, ComposeService>> {
  const { services } = yamlFile(path) as { services: Record<string, ComposeService> };
  const folder = path.slice(0, path.lastIndexOf("/"));
  const whole = Object.entries(services).map(([name, service]): [string, ComposeService] => {
    if (service.extends === undefined) return [name, service];
    const base = composeServices(`${folder}/${service.extends.file}`)[service.extends.service];
    const environment = { ...base?.environment, ...service.environment };
    const volumes = [...base?.volumes ?? [], ...service.volumes ?? []];
    return [name, { ...base, ...service, environment, volumes }];
  });
  return Object.fromEntries(whole);
}

/** Instructions of a Dockerfile: the word and the rest, continued lines joined. */
export function dockerInstructions(
  text: string,
): readonly { readonly word: string; readonly rest: string }[] {
  const lines = text.replaceAll(/^#.*\n/gmu, "").replaceAll(/\\\n\s*/gu, "").split("\n");
  return lines.filter((line) => line.trim() !== "").map((line) => {
    const [word = "", ...rest] = line.split(" ");
    return { word, rest: rest.join(" ") };
  });
}

/** Settings of a unit in their order, continued lines joined. */
export function unitSettings(
  text: string,
): readonly { readonly name: string; readonly value: string }[] {
  const lines = text.replaceAll(/\\\n\s*/gu, "").split("\n");
  return lines.filter((line) => /^\w+=/u.test(line)).map((line) => {
    const at = line.indexOf("=");
    return { name: line.slice(0, at), value: line.slice(at + 1) };
  });
}

/** Variables of a file with `NAME=value` lines; also those that are commented out. */
export function variableLines(text: string): Readonly<Record<string, string>> {
  const lines = Array.from(text.matchAll(/^#?([A-Z][A-Z_]+)=(.*)$/gmu));
  return Object.fromEntries(lines.map(([, name, value]) => [name!, value!]));
}

/** `NAME=value` pairs of one line, as in `ENV` and `Environment=`. */
export function variablePairs(line: string): Readonly<Record<string, string>> {
  const pairs = Array.from(line.matchAll(/([A-Z][A-Z0-9_]+)=(\S+)/gu));
  return Object.fromEntries(pairs.map(([, name, value]) => [name!, value!]));
}
