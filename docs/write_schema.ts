/**
 * Writes what is documented from the code: `docs/gateway.schema.json` from the schema that reads `gateway.json`, and
 * the table of `docs/providers.md` from the presets: `deno task schema`.
 */
import { z } from "zod";
import { type PresetName, presetNames, presetOf } from "../core/catalog/presets/presets.ts";
import { gatewayFileSchema } from "../core/catalog/schema.ts";

/** The JSON Schema as text, as it stands in the repository. */
export function gatewaySchemaText(): string {
  const schema = z.toJSONSchema(gatewayFileSchema, { io: "input" });
  return `${JSON.stringify({ title: "gateway.json", ...schema }, null, 2)}\n`;
}

function presetRow(name: PresetName): string {
  const { title, baseUrl, styles, note = "" } = presetOf(name);
  const needs = presetOf(name).places?.map((place) => `\`${place}\``).join(", ") ?? "";
  return `| \`${name}\` | ${title} | \`${baseUrl}\` | ${styles.join(", ")} | ${needs} | ${note} |`;
}

/** The page of presets with its table written anew. */
export function presetPageText(page: string): string {
  const begin = "<!-- presets: written by `deno task schema` -->\n";
  const end = "<!-- end of presets -->";
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error("The page has no marks");
  const rows = [
    "| preset | provider | address | styles | needs | note |",
    "| --- | --- | --- | --- | --- | --- |",
    ...presetNames.map(presetRow),
  ];
  return `${before}${begin}\n<!-- deno-fmt-ignore-start -->\n\n${
    rows.join("\n")
  }\n\n<!-- deno-fmt-ignore-end -->\n\n${end}${after}`;
}

if (import.meta.main) {
  await Deno.writeTextFile(new URL("gateway.schema.json", import.meta.url), gatewaySchemaText());
  const page = new URL("providers.md", import.meta.url);
  await Deno.writeTextFile(page, presetPageText(await Deno.readTextFile(page)));
}
