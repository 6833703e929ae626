/** Writes `docs/conversion-matrix.md` from the proofs of its cells. */
import type { ProviderStyle, Style } from "../../../core/wire/contract/contract.ts";
import { clientStyles, type Fate, type Feature, features, providerStyles } from "./features.ts";

const marks: Readonly<Record<Fate, string>> = {
  native: "=",
  carried: "✓",
  named: "named",
  refused: "refused",
  absent: "–",
};

const titles: Readonly<Record<ProviderStyle, string>> = {
  messages: "Messages",
  chat: "Chat",
  responses: "Responses",
  gemini: "Gemini",
  converse: "Converse",
};

/** The name of the test that proves a cell. */
export function cellTest(id: string, client: Style, provider: ProviderStyle): string {
  return `conversion matrix: ${id}, ${client} client, ${provider} provider`;
}

function rowOf({ id, title, fate }: Feature, client: Style): string {
  const cells = providerStyles.map((provider) => marks[fate(client, provider)]);
  return `| ${[title, `\`${id}\``, ...cells].join(" | ")} |`;
}

function sectionOf(client: Style): string {
  const heads = ["feature", "id", ...providerStyles.map((style) => titles[style])];
  return `## ${titles[client]} clients

| ${heads.join(" | ")} |
| ${heads.map((_, at) => at < 2 ? "---" : ":-:").join(" | ")} |
${features.map((feature) => rowOf(feature, client)).join("\n")}
`;
}

/** Returns the page. @throws if a cell has no proof */
export function matrixPage(): string {
  return `# Conversion matrix

Written by \`deno task report:matrix\`. What becomes of a feature between the style of a client (the
sections) and the style of a provider (the columns). Each cell is a test of its own in
\`tests/conformance/matrix_test.ts\`, with the name
\`${cellTest("ID", "messages", "chat").replace("messages", "STYLE").replace("chat", "STYLE")}\`; a
test fails if this page says something else. Fields in detail: [conversion.md](conversion.md).

| mark | meaning |
| :-: | --- |
| = | the styles agree: bytes pass unchanged |
| ✓ | converted, and says the same |
| named | left out or approximated; the field is in \`x-gateway-conversion\` |
| refused | 400 with the name of the field |
| – | one of the styles has no such thing |

Rows whose id begins with \`ask\` are about requests: the provider's vendor would accept the result,
and reads in it what the client wrote. The others are about answers: the client's libraries accept
them, and read what the provider wrote. Routes are taken to support what their style has.

${clientStyles.map(sectionOf).join("\n")}`;
}
