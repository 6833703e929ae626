/** `/llms.txt`: the documentation as plain text in Markdown, for programs that read (https://llmstxt.org). */
import { type Operation, tags } from "../../../openapi/operation.ts";
import { keyPlaceholder, recipes } from "../../customer/connect/recipes.ts";
import type { GuideFacts, GuideSection } from "./guides/guide.ts";
import { guides } from "./guides/mod.ts";

/** What the text is made of. */
export interface LlmsTextOptions extends GuideFacts {
  readonly operations: readonly Operation[];
  /** Ids of all models, with their kinds. */
  readonly models: readonly { readonly id: string; readonly kind: string }[];
}

function fenced(name: string, code: string): string {
  return `${name}:\n\n\`\`\`\n${code}\n\`\`\``;
}

function tableText(rows: readonly (readonly string[])[]): string {
  const [head = [], ...rest] = rows;
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rest.map(line)].join("\n");
}

function sectionText({ title, text, code = [], table }: GuideSection, baseUrl: string): string {
  const whole = text.map((paragraph) => paragraph.replaceAll("](/", `](${baseUrl}/`));
  return [
    `### ${title}`,
    ...whole,
    ...table === undefined ? [] : [tableText(table)],
    ...code.map((part) => fenced(part.name, part.code)),
  ].join("\n\n");
}

/** Writes the text, in English. */
export function llmsText(options: LlmsTextOptions): string {
  const { baseUrl, model, operations, models } = options;
  const facts = { baseUrl, model };
  return [
    "# Model Gateway",
    "> One key for text, images, speech and video of many providers, behind the Messages, Chat " +
    "Completions, Responses and Gemini styles. Paid by the call from a prepaid wallet in VND.",
    `- [API reference](${baseUrl}/docs)\n- [OpenAPI 3.1 document](${baseUrl}/openapi.json)\n` +
    `- [Models and prices](${baseUrl}/models)\n- [Status](${baseUrl}/v1/status)`,
    ...guides.flatMap(({ texts }) => {
      const { title, lead, sections } = texts(facts).en;
      return [`## ${title}`, lead, ...sections.map((section) => sectionText(section, baseUrl))];
    }),
    "## Agents and tools",
    ...recipes({ ...facts, key: keyPlaceholder }).flatMap(({ name, text, code }) => [
      `### ${name}`,
      text.en,
      ...code.map((part) => fenced(part.name, part.code)),
    ]),
    "## Endpoints",
    ...Object.keys(tags).map((tag) =>
      [
        `### ${tag}`,
        operations.filter((operation) => operation.tag === tag).map(({ method, path, summary }) =>
          `- \`${method.toUpperCase()} ${path}\`: ${summary}`
        ).join("\n"),
      ].join("\n\n")
    ),
    "## Models",
    models.map(({ id, kind }) => `- \`${id}\` (${kind})`).join("\n"),
    "",
  ].join("\n\n");
}
