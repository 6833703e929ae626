/**
 * Writes `docs/roles.md`, who may do what, from the tables that decide it: `deno task roles`. The page is reviewed and
 * committed; `tests/routes/acts/roles_document_test.ts` compares it, so that no row of the tables changes unseen.
 */
import { type Act, acts, reachOf, type Role, roles } from "../core/people/organisations/acts.ts";
import { pageActs } from "../routes/dashboard/page/page_acts.ts";
import { actNames, reachNames } from "../routes/dashboard/text/act_names.ts";
import { managementOperations } from "../routes/management_api/operations.ts";
import { accountOperations } from "../routes/openapi/account_operations.ts";
import { readings } from "../routes/usage_api/usage_api.ts";

/** The operations of both APIs that a management key calls, with the act of each. */
const operations: readonly { readonly act: Act; readonly line: string }[] = [
  ...managementOperations,
  ...accountOperations().flatMap(({ id, method, path }) => {
    const reading = method === "get" ? readings[path] : undefined;
    return reading === undefined ? [] : [{ id, method, path, act: reading.act }];
  }),
].map(({ id, method, path, act }) => ({
  act,
  line: `- operation \`${id}\`: \`${method.toUpperCase()} ${path}\``,
}));

function pageLines(of: Act | "everyone"): string[] {
  return pageActs.filter(({ act }) => act === of)
    .map(({ method, path }) => `- ${method === "GET" ? "page" : "form"} \`${path}\``);
}

/** Who may do an act, as a sentence. */
function whoMay(act: Act): string {
  const reaching = (reach: "all" | "own") =>
    roles.filter((role) => reachOf(role, act) === reach).join(", ");
  const own = reaching("own");
  return `For ${reaching("all")}.${own === "" ? "" : ` On what they have made: ${own}.`}`;
}

function section(act: Act): string {
  const places = [
    ...pageLines(act),
    ...operations.filter((one) => one.act === act).map(({ line }) => line),
  ];
  return [`### ${actNames.en[act]}`, `\`${act}\`. ${whoMay(act)}`, places.join("\n")].join("\n\n");
}

function table(): string {
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const reach = (role: Role, act: Act) => reachNames.en[reachOf(role, act)];
  return [
    row(["", ...roles]),
    row(["", ...roles].map(() => "---")),
    ...acts.map((act) => row([actNames.en[act], ...roles.map((role) => reach(role, act))])),
  ].join("\n");
}

const intro = `# Roles

What the members of an [organisation](organisations.md) may do with each role. \`billing\` is for
accountants.

- **yes**: on everything of the organisation.
- **own**: only on API keys that the member made.
- **–**: not at all. Pages and forms answer 403, the API answers 403 \`permission_denied\`.

Below the table, each act lists its pages, its forms (what a button sends) and its operations of the
API. A [management key](organisations.md#management-api) has a role of its own (admin, billing or
viewer) and never does more than the member who made it may do now. An API key has no role: it makes
calls and reads usage, and shows invoices on statements only while its maker may see them. Nobody
needs a role to leave, or for their own password, sessions and mails.

<!-- Written by \`deno task roles\` from the tables that decide it. A change here is a change of rights. -->
`;

/** The whole page. */
export function rolesPageText(): string {
  return [
    intro,
    "<!-- deno-fmt-ignore-start -->\n",
    `${table()}\n`,
    "## Where each act is\n",
    ...acts.map((act) => `${section(act)}\n`),
    "## Without a role\n",
    "Forms about the person alone, and pages that the link of a mail opens.\n",
    `${pageLines("everyone").join("\n")}\n`,
    "<!-- deno-fmt-ignore-end -->\n",
  ].join("\n");
}

if (import.meta.main) {
  await Deno.writeTextFile(new URL("roles.md", import.meta.url), rolesPageText());
}
