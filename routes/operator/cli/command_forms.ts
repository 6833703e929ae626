/** The commands of `deno task admin`: words, help text, and the request to the admin app of each. */
import { campaignFieldNames, campaignFields } from "../../../core/trade/credits/campaign_form.ts";
import { keyCreation } from "../../acts/keys.ts";
import * as accounts from "../operations/accounts.ts";
import * as catalog from "../operations/catalog.ts";
import * as approvals from "../operations/money/approvals.ts";
import * as campaigns from "../operations/money/campaigns.ts";
import * as movements from "../operations/money/movements.ts";
import * as notices from "../operations/money/notices.ts";
import * as costs from "../operations/money/costs.ts";
import * as outbox from "../operations/outbox.ts";
import * as providerKeys from "../operations/provider_keys.ts";
import * as routeTests from "../operations/route_tests.ts";
import * as service from "../operations/service.ts";
import { type AdminRequest, command, type CommandForm, requestOf } from "./command.ts";
import { accountBody } from "./commands/accounts.ts";
import { archiveBody, retentionBody } from "./commands/archive.ts";
import { rebuildBody, resealBody, resealSecretsBody, verifyQuery } from "./commands/books.ts";
import { daysQuery } from "./commands/tables.ts";

const credit = command("credit", requestOf(movements.adjustAccount), {
  about: "credit (or, with a minus, debit) a wallet with whole VND: 50000, 50.000 and 50,000\n" +
    "are the same; the same operation id never counts twice",
  operands: { ACCOUNT: "account", VND: "vnd" },
  without: ["seen"],
  names: { operationId: "operation" },
  values: { operationId: "ID" },
});

/** Moves money under an operation id of its own, unless one is given. */
const creditWallet: CommandForm = {
  ...credit,
  options: credit.options.map(({ needed, ...option }) => ({
    ...option,
    ...(needed === true && option.name !== "operation" && { needed }),
  })),
  request(operands, options) {
    const operation = options["operation"] ?? `admin-${crypto.randomUUID()}`;
    return { ...credit.request(operands, { ...options, operation }), operationId: operation };
  },
};

/** The options of a campaign show what is typed into them. */
const campaignValues = Object.fromEntries(
  campaignFieldNames.map((field) => {
    const { input } = campaignFields[field];
    return [field, { kind: "KIND", name: "NAME", vnd: "VND", count: "N", moment: "DAY" }[input]];
  }),
);

const applied = command("catalog apply", requestOf(catalog.putCatalog), {
  about: "make a version of a file in the form of gateway.json, in force at once or from a time\n" +
    "such as 2026-12-01T00:00:00+07:00; --dry-run: only show what would change",
  operands: { FILE: null },
  without: ["catalog"],
  names: { effective_from: "from" },
  values: { effective_from: "TIME" },
  own: [{ name: "dry-run" }],
  also: ([catalogFile = ""]) => ({ catalogFile }),
});

const previewed = command("catalog apply", requestOf(catalog.tryCatalog), {
  about: "",
  operands: { FILE: null },
  without: ["catalog"],
  also: ([catalogFile = ""]) => ({ catalogFile }),
});

/** Makes a version of the catalogue, or with `--dry-run` only shows what it would change, which needs no reason. */
const applyCatalog: CommandForm = {
  ...applied,
  options: applied.options.map(({ needed, ...option }) =>
    needed === true ? { ...option, neededWithout: "dry-run" } : option
  ),
  request: (operands, options) =>
    (options["dry-run"] === undefined ? applied : previewed).request(operands, options),
};

/** All commands, in the order of the help text. */
export const commandForms: readonly CommandForm[] = [
  command("doctor", { method: "GET", path: "/doctor" }, {
    about: "say what is incomplete, late or broken, and how to mend it;\n" +
      "tries each key of a provider with one call; exit code 1 if something is wrong",
    also: () => ({ isLocal: true }),
  }),
  command("account list", requestOf(accounts.pageOfAccounts), {
    about: "list accounts",
    without: ["after", "limit"],
  }),
  command("account create", { method: "POST", path: "/accounts", input: accountBody }, {
    about: "make an account",
    also: () => ({ makesStore: true }),
  }),
  command("account show", requestOf(accounts.showAccount), {
    about: "balance and keys (ACCOUNT: id or e-mail)",
    operands: { ACCOUNT: "account" },
  }),
  command("account notes", requestOf(accounts.notesOfAccount), {
    about: "notes of operators about an account",
    operands: { ACCOUNT: "account" },
  }),
  command("account note", requestOf(accounts.noteAccount), {
    about: "add a note about an account",
    operands: { ACCOUNT: "account" },
  }),
  command("key create", {
    method: "POST",
    path: "/accounts/:account/keys",
    input: keyCreation.input.pick({ name: true }).partial(),
  }, {
    about: "make an API key; it is printed once",
    operands: { ACCOUNT: "account" },
  }),
  command("key revoke", { method: "DELETE", path: "/accounts/:account/keys/:key" }, {
    about: "revoke a key",
    operands: { ACCOUNT: "account", KEY_ID: "key" },
  }),
  command(
    "second-factor forget",
    { method: "DELETE", path: "/accounts/:account/second-factor" },
    {
      about:
        "for a person who lost the device: no second factor is asked for until a new one is set up",
      operands: { ACCOUNT: "account" },
    },
  ),
  creditWallet,
  command("campaign list", requestOf(campaigns.newestCampaigns), {
    about: "campaigns of credit, with what they have given",
  }),
  command("campaign make", requestOf(campaigns.startCampaign), {
    about:
      "give credit: KIND is signup, voucher, or bonus (on a top-up); NAME is in statements.\n" +
      "A bonus may be --percent of the top-up, at most --cap. Set --budget or --max-grants",
    operands: { KIND: "kind", NAME: "name" },
    values: campaignValues,
  }),
  command("campaign pause", requestOf(campaigns.turnCampaign), {
    about: "give nothing more until it is resumed",
    operands: { CAMPAIGN: "campaign" },
    given: { paused: true },
  }),
  command("campaign resume", requestOf(campaigns.turnCampaign), {
    about: "give again",
    operands: { CAMPAIGN: "campaign" },
    given: { paused: false },
  }),
  command("campaign approve", requestOf(campaigns.agreeToCampaign), {
    about: "agree to one that promises more than one operator may",
    operands: { CAMPAIGN: "campaign" },
  }),
  command("campaign codes", requestOf(campaigns.makeCodes), {
    about: "make voucher codes; they are shown only now",
    operands: { CAMPAIGN: "campaign", COUNT: "count" },
  }),
  command("verify", { method: "GET", path: "/verify", input: verifyQuery }, {
    about: "check the money since the last sealed day, and seal the days that are over;\n" +
      "--from: also the seals of days from DAY on; --full: every row of the store",
  }),
  command("margins", requestOf(costs.showMargins), {
    about: "what calls earned and cost, by default of this month by model",
    values: { by: "GROUP" },
  }),
  command("provider-sheet", requestOf(costs.showSheet), {
    about: "units, rates and sums of UTC days, to hold against a provider's invoice",
  }),
  command("proof-keys rotate", { method: "POST", path: "/proofs/keys" }, {
    about: "make a new key that signs days from now on; the old one stays published",
  }),
  command("reseal", { method: "POST", path: "/verify/reseal", input: resealBody }, {
    about: "after a full check that found nothing but broken seals: seal the days from DAY on anew",
    operands: { DAY: "from" },
  }),
  command("reseal-secrets", { method: "POST", path: "/secrets/reseal", input: resealSecretsBody }, {
    about:
      "seal every secret of the store with the newest master key, so that an older one can be\n" +
      "given up a day later; each instance must have both keys before",
    without: ["after"],
    also: () => ({ isPaged: true }),
  }),
  command("sandbox void", { method: "POST", path: "/sandbox/void" }, {
    about: "take back the play money of a sandbox, before its store serves real providers",
  }),
  command("tables", { method: "GET", path: "/tables", input: daysQuery }, {
    about:
      "write receipts and ledger of each sealed day as Parquet files for a warehouse; days that\n" +
      "are there are not written again. FOLDER may also be s3://BUCKET/PREFIX",
    operands: { FOLDER: null },
    also: ([tablesPlace = ""]) => ({ tablesPlace }),
  }),
  command("archive", { method: "POST", path: "/archive", input: archiveBody }, {
    about:
      "move the receipts of sealed days that are older than 35 days, or DAYS, from the store to\n" +
      "its archive, where they take a fifth of the room; everything reads them there as before.\n" +
      "Then it drops what retention shows",
    names: { olderThanDays: "older-than" },
    values: { olderThanDays: "DAYS" },
  }),
  command("retention", { method: "POST", path: "/retention", input: retentionBody }, {
    about:
      "show which rows are older than the settings keep them, by kind; --apply drops them, as\n" +
      "archive does. --months: receipts of this month and of the N before it stay, this time",
  }),
  command("export", { method: "GET", path: "/export" }, {
    about: "write every record as JSON lines to standard output",
  }),
  command("sums rebuild", { method: "POST", path: "/sums/rebuild", input: rebuildBody }, {
    about: "recompute the day sums of usage from the receipts, if verify finds them wrong",
  }),
  command("outbox list", requestOf(outbox.listLetters), {
    about: "mails, webhooks and polls of videos that were given up",
  }),
  command("outbox revive", requestOf(outbox.reviveLetter), {
    about: "try one of them again, at once and with all its attempts",
    operands: { "QUEUE:ID": "letter" },
  }),
  command("outbox forget", requestOf(outbox.forgetLetter), {
    about: "remove one of them for good",
    operands: { "QUEUE:ID": "letter" },
  }),
  command("approval list", requestOf(approvals.listApprovalRequests), {
    about: "what waits for a second operator and what was decided, newest first",
    without: ["before", "limit"],
  }),
  command("approval approve", requestOf(approvals.decideRequest), {
    about: "agree to what an operator asked for, which moves the money",
    operands: { APPROVAL: "approval" },
    given: { verdict: "approve" },
    without: ["seen"],
  }),
  command("approval refuse", requestOf(approvals.decideRequest), {
    about: "refuse what an operator asked for",
    operands: { APPROVAL: "approval" },
    given: { verdict: "refuse" },
    without: ["seen"],
  }),
  command("notice list", requestOf(notices.listWaitingNotices), {
    about: "bank notices that wait for a person, oldest first",
    without: ["after", "limit"],
  }),
  command("notice assign", requestOf(movements.assignNotice), {
    about: "credit a bank notice to an order, or to an account by its id or e-mail",
    operands: { "SOURCE:ID": "notice", TARGET: "target" },
    without: ["seen"],
  }),
  command("notice duplicate", requestOf(notices.resolveNotice), {
    about: "mark a bank notice as a duplicate of another one",
    operands: { "SOURCE:ID": "notice", OTHER: "of" },
    given: { verdict: "duplicate" },
    without: ["note"],
  }),
  command("notice ignore", requestOf(notices.resolveNotice), {
    about: "set a bank notice aside that is no top-up",
    operands: { "SOURCE:ID": "notice" },
    given: { verdict: "ignore" },
    without: ["of"],
  }),
  command("notice refund", requestOf(notices.resolveNotice), {
    about: "say that the money goes back by bank transfer",
    operands: { "SOURCE:ID": "notice" },
    given: { verdict: "start_refund" },
    without: ["of"],
  }),
  command("notice refunded", requestOf(notices.resolveNotice), {
    about: "say that it has gone back, with the reference of the bank",
    operands: { "SOURCE:ID": "notice" },
    given: { verdict: "finish_refund" },
    without: ["of"],
    names: { note: "reference" },
  }),
  command("notice return", requestOf(notices.resolveNotice), {
    about: "put a bank notice (marked duplicate, set aside, refund not sent) back under review",
    operands: { "SOURCE:ID": "notice" },
    given: { verdict: "return" },
    without: ["of", "note"],
  }),
  command("backup", { method: "GET", path: "/backup" }, {
    about:
      "write the whole store to a new file, encrypted with GATEWAY_BACKUP_KEY; in a folder the\n" +
      "file is named by its time, and --keep removes all but the newest N; --since writes only what\n" +
      "the folder lacks: each sealed day once, into a file of its own, and the rest of the store",
    operands: { FILE: null },
    own: [{ name: "keep", value: "N", isNumber: true }, { name: "since" }],
    also: ([path = ""], { keep, since }) => ({
      ...(since !== undefined && { path: "/backup/days" }),
      backup: {
        act: "save",
        path,
        ...(keep !== undefined && { keep: Number(keep) }),
        ...(since !== undefined && { since: true }),
      },
    }),
  }),
  command("restore", { method: "POST", path: "/restore" }, {
    about: "fill an empty store of any engine from such a file",
    operands: { FILE: null },
    also: ([path = ""]) => ({ makesStore: true, backup: { act: "restore", path } }),
  }),
  command("catalog show", requestOf(catalog.showCatalog), {
    about: "the catalogue in force, and the version that waits",
  }),
  applyCatalog,
  command("catalog history", requestOf(catalog.listCatalogVersions), {
    about: "versions with author and reason, newest first",
    values: { before: "VERSION" },
  }),
  command("catalog rollback", requestOf(catalog.rollBackTo), {
    about: "make a version with the contents of an older one",
    operands: { VERSION: "version" },
    names: { effective_from: "from" },
    values: { effective_from: "TIME" },
  }),
  command("catalog withdraw", requestOf(catalog.withdrawScheduledVersion), {
    about: "take back the version that waits for its time",
  }),
  command("provider-key list", requestOf(providerKeys.listProviderKeys), {
    about: "keys of providers that are sealed in the store, without their secrets",
  }),
  command("provider-key add", requestOf(providerKeys.addProviderKey), {
    about: "seal a key in the store; it is read from the standard input, which it must be alone in",
    operands: { NAME: "name" },
  }),
  command("provider-key replace", requestOf(providerKeys.replaceProviderKey), {
    about: "put another key in its place, read from the standard input",
    operands: { NAME: "key" },
  }),
  command("provider-key remove", requestOf(providerKeys.removeProviderKey), {
    about: "remove one for good; --force: although providers of the catalogue name it",
    operands: { NAME: "key" },
  }),
  command("provider-key reseal", requestOf(providerKeys.resealProviderKeys), {
    about: "seal them with the newest master key, so that an older one can be given up",
  }),
  command("route test", requestOf(routeTests.tryRoute), {
    about: "send one small chat call through a route of the running gateway; nobody is charged",
    operands: { MODEL: "model", ROUTE: "route" },
  }),
  command("maintenance on", requestOf(service.turnMaintenance), {
    about: "answer calls with 503 and this message",
    given: { on: true },
  }),
  command("maintenance off", requestOf(service.turnMaintenance), {
    about: "answer calls again",
    given: { on: false },
    without: ["message"],
  }),
];

/** Formats the syntax of a command as one line. */
function formLine({ words, operands, options }: CommandForm): string {
  const named = options.map(({ name, value, needed }) => {
    const text = value === undefined ? `--${name}` : `--${name} ${value}`;
    return needed === true ? text : `[${text}]`;
  });
  return [...words, ...operands, ...named].join(" ");
}

/** Builds the help text. */
export function adminUsage(): string {
  const column = 33;
  const lines = commandForms.flatMap((form) => {
    const left = `  ${formLine(form)}`;
    const about = form.about.split("\n").map((line) => " ".repeat(column) + line);
    return left.length < column
      ? [left + about[0]!.slice(left.length), ...about.slice(1)]
      : [left, ...about];
  });
  return `Usage: deno task admin <command>\n\n${lines.join("\n")}\n`;
}

// Parses the arguments of `deno task admin` into one request to the admin app. A command that is not understood to its
// last word is refused: a command that moves money must not do a part of what was meant.

/** A parsed command line. */
export type AdminCommand =
  | { readonly kind: "request"; readonly request: AdminRequest }
  | { readonly kind: "help" }
  /** `usage` describes the command that was meant, or all commands if none was recognised. */
  | { readonly kind: "refused"; readonly problem: string; readonly usage: string };

interface Split {
  readonly words: readonly string[];
  readonly options: Readonly<Record<string, string>>;
  readonly problem?: string;
}

/** The options without a value. */
const switches: ReadonlySet<string> = new Set(
  commandForms.flatMap(({ options }) => options.filter(({ value }) => value === undefined))
    .map(({ name }) => name),
);

/**
 * Separates words from options. `parseArgs` of `node:util` would take the amount `-50000` for a row of options.
 * `undefined`: help was requested.
 */
function split(args: readonly string[]): Split | undefined {
  const words: string[] = [];
  const options: Record<string, string> = {};
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (arg === "--help" || arg === "-h" || arg === "help") return undefined;
    const option = /^--([a-z-]+)(?:=(.*))?$/s.exec(arg);
    if (option === null) {
      // A dash before a digit is a minus sign.
      if (/^-(?!\s*\d)/.test(arg)) return { words, options, problem: `Unknown option "${arg}"` };
      words.push(arg);
      continue;
    }
    const name = option[1]!;
    if (option[2] === undefined && switches.has(name)) {
      if (Object.hasOwn(options, name)) {
        return { words, options, problem: `--${name} is there twice` };
      }
      options[name] = "yes";
      continue;
    }
    const value = option[2] ?? args[++i];
    if (value === undefined || (option[2] === undefined && value.startsWith("--"))) {
      return { words, options, problem: `--${name} needs a value` };
    }
    if (Object.hasOwn(options, name)) {
      return { words, options, problem: `--${name} is there twice` };
    }
    options[name] = value;
  }
  return { words, options };
}

function problemOf(form: CommandForm, { words, options }: Split): string | undefined {
  const operands = words.slice(form.words.length);
  const surplus = operands[form.operands.length];
  if (surplus !== undefined) {
    return `"${surplus}" is one word too many (put quotes around what holds spaces)`;
  }
  const missing = form.operands.find((_, i) => (operands[i] ?? "").trim() === "");
  if (missing !== undefined) return `${missing} is missing`;
  const foreign = Object.keys(options).find((name) =>
    form.options.every((option) => option.name !== name)
  );
  if (foreign !== undefined) return `Unknown option "--${foreign}"`;
  const needed = form.options.find(({ name, needed, neededWithout }) =>
    options[name] === undefined &&
    (needed === true || (neededWithout !== undefined && options[neededWithout] === undefined))
  );
  if (needed !== undefined) return `--${needed.name} is missing`;
  const isUnclear = (text = "0") => !/^\d{1,9}$/.test(text);
  const unclear = form.options.find(({ name, isNumber }) => isNumber && isUnclear(options[name]));
  if (unclear !== undefined) return `--${unclear.name} must be a number`;
  const other = form.numbers.find((name) => isUnclear(operands[form.operands.indexOf(name)]));
  return other && `${other} must be a number`;
}

/**
 * Parses a command.
 *
 * @example
 * ```ts
 * import { readAdminCommand } from "./command_forms.ts";
 * const debit = readAdminCommand(["credit", "ann@example.com", "-50.000", "--reason", "sent twice"]);
 * if (debit.kind !== "request" || debit.request.method !== "POST") throw new Error("refused");
 * const slip = readAdminCommand(["credit", "ann@example.com", "50", "000", "--reason", "top-up"]);
 * if (slip.kind !== "refused") throw new Error("50 would have been credited");
 * ```
 */
export function readAdminCommand(args: readonly string[]): AdminCommand {
  const read = split(args);
  if (read === undefined) return { kind: "help" };
  const { options } = read;
  const isBare = read.words.length === 1 && read.words[0] === "account";
  const words = isBare ? ["account", "list"] : read.words;
  const form = commandForms.find((one) => one.words.every((word, i) => words[i] === word));
  if (form === undefined) {
    const problem = read.problem ??
      (words.length === 0 ? "No command" : `Unknown command "${words.slice(0, 2).join(" ")}"`);
    return { kind: "refused", problem, usage: adminUsage() };
  }
  const problem = read.problem ?? problemOf(form, { words, options });
  if (problem !== undefined) {
    return { kind: "refused", problem, usage: `Usage: deno task admin ${formLine(form)}\n` };
  }
  return { kind: "request", request: form.request(words.slice(form.words.length), options) };
}
