/** Each operation of operators is reached by the HTTP API, a command and a page, or the hole has a reason. */
import { assertEquals } from "../../../support/assert.ts";
import { commandForms } from "../../../../routes/operator/cli/command_forms.ts";
import { operations } from "../../../../routes/operator/operations/operations.ts";
import {
  type OperationName,
  operationNames,
  operationPaths,
} from "../../../../routes/operator/operations/contract/paths.ts";

const pagesFolder = new URL("../../../../routes/operator/pages/", import.meta.url);

/** Where an operation is, beside the HTTP API; or why it is not there. */
interface Surfaces {
  readonly commands: readonly string[] | { readonly none: string };
  /** The address in the sources of the pages. */
  readonly page: string | { readonly none: string };
}

const running = { none: "of a running process; commands also run on the store alone" };
const forPrograms = { none: "for programs that copy or watch; persons have the page" };
const watched = { none: "metrics and alerts say that there is something to do" };
const calledWhenNeeded = { none: "for programs that read only what they compare" };

const surfaces: Readonly<Record<OperationName, Surfaces>> = {
  "routes.list": { commands: running, page: "/operator/provider-routes" },
  "routes.test": { commands: ["route test"], page: "/operator/catalogue" },
  "routes.switch": { commands: running, page: "/operator/provider-routes/switch" },
  "claims.list": {
    commands: { none: "a report for pages and programs" },
    page: "/operator/claims",
  },
  "maintenance.show": { commands: running, page: "/operator/service" },
  "maintenance.set": {
    commands: ["maintenance on", "maintenance off"],
    page: "/operator/service/maintenance",
  },
  "catalog.show": { commands: ["catalog show"], page: "/operator/catalogue" },
  "catalog.preview": { commands: ["catalog apply"], page: "/operator/catalogue" },
  "catalog.apply": { commands: ["catalog apply"], page: "/operator/catalogue" },
  "catalog.rollback": { commands: ["catalog rollback"], page: "/operator/catalogue" },
  "catalog.withdraw": { commands: ["catalog withdraw"], page: "/operator/catalogue" },
  "catalog.versions": { commands: ["catalog history"], page: "/operator/catalogue" },
  "catalog.version": { commands: calledWhenNeeded, page: "/operator/catalogue" },
  "provider_keys.list": {
    commands: ["provider-key list"],
    page: "/operator/provider-keys",
  },
  "provider_keys.add": { commands: ["provider-key add"], page: "/operator/provider-keys" },
  "provider_keys.replace": { commands: ["provider-key replace"], page: "/operator/provider-keys" },
  "provider_keys.remove": { commands: ["provider-key remove"], page: "/operator/provider-keys" },
  "provider_keys.reseal": {
    commands: ["provider-key reseal"],
    page: "/operator/provider-key-seals",
  },
  "accounts.list": { commands: ["account list"], page: "/operator/accounts" },
  "accounts.show": { commands: ["account show"], page: "/operator/accounts/:id" },
  "accounts.block": {
    commands: { none: "the owner of the machine has the API and the pages for it" },
    page: "/operator/accounts/:id/block",
  },
  "accounts.limits": {
    commands: { none: "names models of the running catalogue" },
    page: "/operator/accounts/:id/limits",
  },
  "accounts.adjust": { commands: ["credit"], page: "/operator/accounts/:id/adjust" },
  "accounts.sign_out": {
    commands: { none: "the owner of the machine has the API and the pages for it" },
    page: "/operator/accounts/:id/sign-out",
  },
  "accounts.notes": { commands: ["account notes"], page: "/operator/accounts/:id" },
  "accounts.note": { commands: ["account note"], page: "/operator/accounts/:id/note" },
  "campaigns.list": { commands: ["campaign list"], page: "/operator/campaigns" },
  "campaigns.make": { commands: ["campaign make"], page: "/operator/campaigns" },
  "campaigns.pause": {
    commands: ["campaign pause", "campaign resume"],
    page: "/operator/campaigns",
  },
  "campaigns.approve": { commands: ["campaign approve"], page: "/operator/campaigns" },
  "campaigns.codes": { commands: ["campaign codes"], page: "/operator/campaigns" },
  "margins.show": { commands: ["margins"], page: "/operator/margins" },
  "margins.sheet": { commands: ["provider-sheet"], page: "/operator/margins" },
  "audit.list": { commands: forPrograms, page: "/operator/audit" },
  "announcements.list": { commands: forPrograms, page: "/operator/announcements" },
  "announcements.publish": { commands: forPrograms, page: "/operator/announcements" },
  "announcements.update": { commands: forPrograms, page: "/operator/announcements" },
  "approvals.list": { commands: ["approval list"], page: "/operator/approvals" },
  "approvals.decide": {
    commands: ["approval approve", "approval refuse"],
    page: "/operator/approvals/:id/approve",
  },
  "topups.list": { commands: forPrograms, page: "/operator/accounts/:id" },
  "notices.list": { commands: forPrograms, page: "/operator/bank" },
  "notices.waiting": { commands: ["notice list"], page: "/operator/review" },
  "notices.unreadable": { commands: forPrograms, page: "/operator/review/unreadable" },
  "notices.set_aside": {
    commands: { none: "the page shows what is to be judged" },
    page: "/operator/review/unreadable",
  },
  "notices.assign": { commands: ["notice assign"], page: "/operator/notices/:source/:id" },
  "notices.resolve": {
    commands: [
      "notice duplicate",
      "notice ignore",
      "notice refund",
      "notice refunded",
      "notice return",
    ],
    page: "/operator/notices/:source/:id",
  },
  "invoices.list": { commands: forPrograms, page: "/operator/invoices" },
  "invoices.export": { commands: forPrograms, page: "/operator/invoices/export" },
  "invoices.issue": { commands: forPrograms, page: "/operator/invoices/:id/move" },
  "invoices.send": { commands: forPrograms, page: "/operator/invoices/:id/move" },
  "invoices.reject": { commands: forPrograms, page: "/operator/invoices/:id/move" },
  "invoices.replace": { commands: forPrograms, page: "/operator/invoices/:id/move" },
  "outbox.list": { commands: ["outbox list"], page: watched },
  "outbox.revive": { commands: ["outbox revive"], page: watched },
  "outbox.forget": { commands: ["outbox forget"], page: watched },
  "calls.list": { commands: forPrograms, page: "/operator/calls" },
  "calls.show": { commands: forPrograms, page: "/operator/calls/:id" },
};

/** Commands that are no operation: why the HTTP API does not have them. */
const commandsAlone: Readonly<Record<string, string>> = {
  "doctor": "looks at the configuration of the machine, before anything serves",
  "account create": "makes a store, before anything serves",
  "key create": "shows a secret of a customer, which nobody but the customer should have",
  "key revoke": "the owner of the key does it on the pages of the account",
  "second-factor forget": "gives access to the pages of operators",
  "verify": "reads the whole store, for as long as hours",
  "proof-keys rotate": "changes what signs the books",
  "reseal": "changes what proves the books",
  "reseal-secrets": "seals every secret anew: the owner of the machine has the master keys",
  "sandbox void": "takes money back, once, before the store serves real providers",
  "tables": "writes files on the machine of whoever runs it",
  "archive": "moves rows for as long as minutes, by a daily job of the machine",
  "retention": "removes rows for good: the owner of the machine decides",
  "export": "has every record of the store",
  "sums rebuild": "repairs rows that verify found wrong",
  "backup": "has every row of the store",
  "restore": "fills a store that nothing serves",
};

/** The path of each operation: making a pattern takes longer than all that it is compared with. */
const patterns = new Map(operationNames.map((name) => {
  const pathname = operationPaths[name].path.replaceAll(/\{[^}]*\}/g, "");
  return [name, new URLPattern({ pathname })];
}));

/** The names of the operations that a command may send. */
function operationsOf({ operands, request, options }: typeof commandForms[number]): string[] {
  const dry: Record<string, string> = options.some(({ name }) => name === "dry-run")
    ? { "dry-run": "yes" }
    : {};
  return [{}, dry].flatMap((given) => {
    const { method, path } = request(operands.map(() => "x"), given);
    const [pathname = path] = path.split("?");
    return operationNames.filter((name) =>
      operationPaths[name].method === method && patterns.get(name)?.test({ pathname }) === true
    );
  });
}

Deno.test("each operation has the commands that the table names, and each other command a reason", () => {
  const found = new Map<string, Set<string>>(operationNames.map((name) => [name, new Set()]));
  const alone: string[] = [];
  for (const form of commandForms) {
    const words = form.words.join(" ");
    const names = operationsOf(form);
    for (const name of names) found.get(name)?.add(words);
    if (names.length === 0) alone.push(words);
  }
  for (const name of operationNames) {
    const { commands } = surfaces[name];
    assertEquals([...found.get(name) ?? []], "none" in commands ? [] : commands, name);
  }
  assertEquals(alone.toSorted(), Object.keys(commandsAlone).toSorted());
});

/** The texts of all files of a folder and of those in it. */
async function textsBelow(folder: URL): Promise<string> {
  let text = "";
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    text += isDirectory
      ? await textsBelow(new URL(`${name}/`, folder))
      : await Deno.readTextFile(new URL(name, folder));
  }
  return text;
}

Deno.test("each operation has the page that the table names", async () => {
  const text = await textsBelow(pagesFolder);
  for (const name of operationNames) {
    const { page } = surfaces[name];
    if (typeof page === "string") {
      assertEquals(text.includes(`"${page}"`), true, `${name}: ${page}`);
    }
  }
});

Deno.test("an operation that acts changes with another method than GET, and one that reads needs no body", () => {
  for (const name of operationNames) {
    const isGet = operationPaths[name].method === "GET";
    const { effect } = operations[name];
    assertEquals(isGet ? "reads" : name === "catalog.preview" ? "reads" : "acts", effect, name);
  }
});
