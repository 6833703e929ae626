/** The commands of `deno task admin`: syntax, help text, and request to the admin app of each. */
import { maxNameChars } from "../../../core/lib/base/names.ts";
import { maxNoteChars } from "../../../kv/people/accounts/account_notes.ts";
import {
  type CampaignField,
  campaignFieldNames,
  campaignFields,
} from "../../../core/trade/credits/campaign_form.ts";
import { maxCatalogReasonChars } from "../../../kv/services/catalog/versions.ts";
import { maxOperationIdChars, minOperationIdChars, minReasonChars } from "./commands/accounts.ts";
import { maxReasonChars } from "../operations/contract/texts.ts";

/** A request to the admin app. */
export interface AdminRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  /** The operation id of a command that moves money: repeated with it, the command counts once. */
  readonly operationId?: string;
  /** Looks at the configuration alone: no store is opened, and no server asked. */
  readonly isLocal?: true;
  /** Creates the store if there is none: what an operator does before the first start. */
  readonly makesStore?: true;
  /** The file of JSON that is sent as `catalog` of the body. */
  readonly catalogFile?: string;
  /** The standard input is sent as `secret` of the body: arguments are seen by others on the machine, and kept by shells. */
  readonly readsSecret?: true;
  /** The file that the command writes or reads, encrypted; it writes also into a folder, and keeps some there. */
  readonly backup?: {
    readonly act: "save" | "restore";
    readonly path: string;
    readonly keep?: number;
    /** Writes sealed days to files of their own in the folder, once. */
    readonly since?: true;
  };
  /** Answers come in pages: the command asks again from the `next` of each, and sums up what they count. */
  readonly isPaged?: true;
  /** The folder or bucket to which the tables of the days of the answer are written. */
  readonly tablesPlace?: string;
}

/** An option of a command. */
export interface CommandOption {
  readonly name: string;
  /** The placeholder of the value in the help text; absent for an option without a value. */
  readonly value?: string;
  readonly needed?: true;
  /** Needed, unless this option is set. */
  readonly neededWithout?: string;
  /** The value is a number. */
  readonly isNumber?: true;
}

/** The syntax of one command. */
export interface CommandForm {
  readonly words: readonly string[];
  /** The operands after the words; all are required. */
  readonly operands: readonly string[];
  readonly options: readonly CommandOption[];
  readonly about: string;
  request(operands: readonly string[], options: Readonly<Record<string, string>>): AdminRequest;
}

function accountPath(account = "", ...rest: readonly string[]): string {
  return ["/accounts", encodeURIComponent(account), ...rest].join("/");
}

function providerKeyPath(name = ""): string {
  return `/api/provider-keys/${encodeURIComponent(name)}`;
}

function campaignPath(campaign = "", act: string): string {
  return `/campaigns/${encodeURIComponent(campaign)}/${act}`;
}

function pausing(campaign: string | undefined, paused: boolean): AdminRequest {
  return { method: "POST", path: `/api${campaignPath(campaign, "pause")}`, body: { paused } };
}

/** Names options as the fields of a body: `min-topup` is `minTopup`. */
function camelCased(options: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const field = (name: string) =>
    name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [field(name), value]));
}

const campaignValues: Readonly<Record<CampaignField["input"], string | undefined>> = {
  kind: undefined,
  name: undefined,
  vnd: "VND",
  count: "N",
  moment: "DAY",
};

/** The options of a campaign: its fields but those that are operands, `minTopup` as `min-topup`. */
function campaignOptions(): CommandOption[] {
  return campaignFieldNames.flatMap((field) => {
    const value = campaignValues[campaignFields[field].input];
    const name = field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    return value === undefined ? [] : [{ name, value }];
  });
}

/** All commands, in the order of the help text. */
export const commandForms: readonly CommandForm[] = [
  {
    words: ["doctor"],
    operands: [],
    options: [],
    about: "say what of the configuration is incomplete, and how to mend it;\n" +
      "tries each key of a provider with one call; exit code 1 if something is wrong",
    request: () => ({ method: "GET", path: "/doctor", isLocal: true }),
  },
  {
    words: ["account", "list"],
    operands: [],
    options: [],
    about: "list accounts",
    request: () => ({ method: "GET", path: "/api/accounts" }),
  },
  {
    words: ["account", "create"],
    operands: [],
    options: [{ name: "email", value: "E" }],
    about: "make an account",
    request: (_, body) => ({ method: "POST", path: "/accounts", body, makesStore: true }),
  },
  {
    words: ["account", "show"],
    operands: ["ACCOUNT"],
    options: [],
    about: "balance and keys (ACCOUNT: id or e-mail)",
    request: ([account]) => ({ method: "GET", path: `/api${accountPath(account)}` }),
  },
  {
    words: ["account", "notes"],
    operands: ["ACCOUNT"],
    options: [],
    about: "notes of operators about an account",
    request: ([account]) => ({ method: "GET", path: `/api${accountPath(account, "notes")}` }),
  },
  {
    words: ["account", "note"],
    operands: ["ACCOUNT"],
    options: [{ name: "text", value: "T", needed: true }],
    about: `add a note about an account. T: 1 to ${maxNoteChars} characters`,
    request: ([account], { text }) => ({
      method: "POST",
      path: `/api${accountPath(account, "notes")}`,
      body: { text },
    }),
  },
  {
    words: ["key", "create"],
    operands: ["ACCOUNT"],
    options: [{ name: "name", value: "N" }],
    about: `make an API key; it is printed once. N: 1 to ${maxNameChars} characters`,
    request: ([account], body) => ({ method: "POST", path: accountPath(account, "keys"), body }),
  },
  {
    words: ["key", "revoke"],
    operands: ["ACCOUNT", "KEY_ID"],
    options: [],
    about: "revoke a key",
    request: ([account, key = ""]) => ({
      method: "DELETE",
      path: accountPath(account, "keys", encodeURIComponent(key)),
    }),
  },
  {
    words: ["second-factor", "forget"],
    operands: ["ACCOUNT"],
    options: [],
    about:
      "for a person who lost the device: no second factor is asked for until a new one is set up",
    request: ([account]) => ({ method: "DELETE", path: accountPath(account, "second-factor") }),
  },
  {
    words: ["credit"],
    operands: ["ACCOUNT", "VND"],
    options: [{ name: "reason", value: "R", needed: true }, { name: "operation", value: "ID" }],
    about: "credit (or, with a minus, debit) a wallet with whole VND: 50000, 50.000 and 50,000\n" +
      "are the same; the same operation id never counts twice. " +
      `R: ${minReasonChars} to ${maxReasonChars}\ncharacters; ID: ${minOperationIdChars} to ${maxOperationIdChars}`,
    request([account, vnd], { reason, operation }) {
      const operationId = operation ?? `admin-${crypto.randomUUID()}`;
      const path = accountPath(account, "credit");
      return { method: "POST", path, body: { vnd, reason, operationId }, operationId };
    },
  },
  {
    words: ["campaign", "list"],
    operands: [],
    options: [],
    about: "campaigns of credit, with what they have given",
    request: () => ({ method: "GET", path: "/api/campaigns" }),
  },
  {
    words: ["campaign", "make"],
    operands: ["KIND", "NAME"],
    options: campaignOptions(),
    about:
      "give credit: KIND is signup, voucher, or bonus (on a top-up); NAME is in statements.\n" +
      "A bonus may be --percent of the top-up, at most --cap. Set --budget or --max-grants",
    request: ([kind = "", name = ""], options) => ({
      method: "POST",
      path: "/api/campaigns",
      body: { kind, name, ...camelCased(options) },
    }),
  },
  {
    words: ["campaign", "pause"],
    operands: ["CAMPAIGN"],
    options: [],
    about: "give nothing more until it is resumed",
    request: ([campaign]) => pausing(campaign, true),
  },
  {
    words: ["campaign", "resume"],
    operands: ["CAMPAIGN"],
    options: [],
    about: "give again",
    request: ([campaign]) => pausing(campaign, false),
  },
  {
    words: ["campaign", "approve"],
    operands: ["CAMPAIGN"],
    options: [],
    about: "agree to one that promises more than one operator may",
    request: ([campaign]) => ({ method: "POST", path: campaignPath(campaign, "approve") }),
  },
  {
    words: ["campaign", "codes"],
    operands: ["CAMPAIGN", "COUNT"],
    options: [{ name: "uses", value: "N" }],
    about: "make voucher codes; they are shown only now",
    request: ([campaign, count], { uses }) => ({
      method: "POST",
      path: `/api${campaignPath(campaign, "codes")}`,
      body: { count: Number(count), uses: uses === undefined ? 1 : Number(uses) },
    }),
  },
  {
    words: ["verify"],
    operands: [],
    options: [{ name: "full" }, { name: "from", value: "DAY" }],
    about: "check the money since the last sealed day, and seal the days that are over;\n" +
      "--from: also the seals of days from DAY on; --full: every row of the store",
    request(_, options) {
      const query = new URLSearchParams(options);
      return { method: "GET", path: query.size === 0 ? "/verify" : `/verify?${query}` };
    },
  },
  {
    words: ["margins"],
    operands: [],
    options: [
      { name: "by", value: "GROUP" },
      { name: "from", value: "DAY" },
      { name: "to", value: "DAY" },
    ],
    about: "what calls earned and cost, by default of this month by model;\n" +
      "GROUP: model, route, account, key or day",
    request: (_, options) => ({
      method: "GET",
      path: `/api/margins?${new URLSearchParams(options)}`,
    }),
  },
  {
    words: ["provider-sheet"],
    operands: [],
    options: [
      { name: "from", value: "DAY", needed: true },
      { name: "to", value: "DAY" },
      { name: "provider", value: "P" },
    ],
    about: "units, rates and sums of UTC days, to hold against a provider's invoice",
    request: (_, options) => ({
      method: "GET",
      path: `/api/provider-sheet?${new URLSearchParams(options)}`,
    }),
  },
  {
    words: ["proof-keys", "rotate"],
    operands: [],
    options: [],
    about: "make a new key that signs days from now on; the old one stays published",
    request: () => ({ method: "POST", path: "/proofs/keys" }),
  },
  {
    words: ["reseal"],
    operands: ["DAY"],
    options: [],
    about: "after a full check that found nothing but broken seals: seal the days from DAY on anew",
    request: ([from]) => ({ method: "POST", path: "/verify/reseal", body: { from } }),
  },
  {
    words: ["reseal-secrets"],
    operands: [],
    options: [],
    about:
      "seal every secret of the store with the newest master key, so that an older one can be\n" +
      "given up a day later; each instance must have both keys before",
    request: () => ({ method: "POST", path: "/secrets/reseal", body: {}, isPaged: true }),
  },
  {
    words: ["sandbox", "void"],
    operands: [],
    options: [],
    about: "take back the play money of a sandbox, before its store serves real providers",
    request: () => ({ method: "POST", path: "/sandbox/void" }),
  },
  {
    words: ["tables"],
    operands: ["FOLDER"],
    options: [{ name: "from", value: "DAY", needed: true }, { name: "to", value: "DAY" }],
    about:
      "write receipts and ledger of each sealed day as Parquet files for a warehouse; days that\n" +
      "are there are not written again. FOLDER may also be s3://BUCKET/PREFIX",
    request: ([tablesPlace = ""], { from = "", to }) => ({
      method: "GET",
      path: `/tables?${new URLSearchParams({ from, ...(to !== undefined && { to }) })}`,
      tablesPlace,
    }),
  },
  {
    words: ["archive"],
    operands: [],
    options: [{ name: "older-than", value: "DAYS", isNumber: true }],
    about:
      "move the receipts of sealed days that are older than 35 days, or DAYS, from the store to\n" +
      "its archive, where they take a fifth of the room; everything reads them there as before.\n" +
      "Then it drops what retention shows",
    request: (_, { "older-than": olderThanDays }) => ({
      method: "POST",
      path: "/archive",
      body: { ...(olderThanDays !== undefined && { olderThanDays: Number(olderThanDays) }) },
    }),
  },
  {
    words: ["retention"],
    operands: [],
    options: [{ name: "months", value: "N", isNumber: true }, { name: "apply" }],
    about:
      "show which rows are older than the settings keep them, by kind; --apply drops them, as\n" +
      "archive does. --months: receipts of this month and of the N before it stay, this time",
    request: (_, { months, apply }) => ({
      method: "POST",
      path: "/retention",
      body: {
        ...(months !== undefined && { months: Number(months) }),
        apply: apply !== undefined,
      },
    }),
  },
  {
    words: ["export"],
    operands: [],
    options: [],
    about: "write every record as JSON lines to standard output",
    request: () => ({ method: "GET", path: "/export" }),
  },
  {
    words: ["sums", "rebuild"],
    operands: [],
    options: [{ name: "account", value: "A" }],
    about: "recompute the day sums of usage from the receipts, if verify finds them wrong",
    request: (_, body) => ({ method: "POST", path: "/sums/rebuild", body }),
  },
  {
    words: ["outbox", "list"],
    operands: [],
    options: [],
    about: "mails, webhooks and polls of videos that were given up",
    request: () => ({ method: "GET", path: "/api/outbox" }),
  },
  {
    words: ["outbox", "revive"],
    operands: ["QUEUE:ID"],
    options: [],
    about: "try one of them again, at once and with all its attempts",
    request: ([letter = ""]) => ({
      method: "POST",
      path: `/api/outbox/${encodeURIComponent(letter)}/revive`,
    }),
  },
  {
    words: ["outbox", "forget"],
    operands: ["QUEUE:ID"],
    options: [],
    about: "remove one of them for good",
    request: ([letter = ""]) => ({
      method: "DELETE",
      path: `/api/outbox/${encodeURIComponent(letter)}`,
    }),
  },
  {
    words: ["notice", "return"],
    operands: ["SOURCE:ID"],
    options: [],
    about: "put a bank notice (marked duplicate, set aside, refund not sent) back under review",
    request: ([notice = ""]) => ({
      method: "POST",
      path: `/notices/${encodeURIComponent(notice)}/return`,
    }),
  },
  {
    words: ["backup"],
    operands: ["FILE"],
    options: [{ name: "keep", value: "N", isNumber: true }, { name: "since" }],
    about:
      "write the whole store to a new file, encrypted with GATEWAY_BACKUP_KEY; in a folder the\n" +
      "file is named by its time, and --keep removes all but the newest N; --since writes only what\n" +
      "the folder lacks: each sealed day once, into a file of its own, and the rest of the store",
    request: ([path = ""], { keep, since }) => ({
      method: "GET",
      path: since === undefined ? "/backup" : "/backup/days",
      backup: {
        act: "save",
        path,
        ...(keep !== undefined && { keep: Number(keep) }),
        ...(since !== undefined && { since: true }),
      },
    }),
  },
  {
    words: ["restore"],
    operands: ["FILE"],
    options: [],
    about: "fill an empty store of any engine from such a file",
    request: ([path = ""]) => ({
      method: "POST",
      path: "/restore",
      makesStore: true,
      backup: { act: "restore", path },
    }),
  },
  {
    words: ["catalog", "show"],
    operands: [],
    options: [],
    about: "the catalogue in force, and the version that waits",
    request: () => ({ method: "GET", path: "/catalog" }),
  },
  {
    words: ["catalog", "apply"],
    operands: ["FILE"],
    options: [
      { name: "reason", value: "R", neededWithout: "dry-run" },
      { name: "from", value: "TIME" },
      { name: "dry-run" },
    ],
    about:
      "make a version of a file in the form of gateway.json, in force at once or from a time\n" +
      "such as 2026-12-01T00:00:00+07:00; --dry-run: only show what would change",
    request: ([catalogFile = ""], { reason, from, "dry-run": isDry }) =>
      isDry === undefined
        ? {
          method: "PUT",
          path: "/catalog",
          body: { reason, effective_from: from },
          catalogFile,
        }
        : { method: "POST", path: "/catalog/preview", body: {}, catalogFile },
  },
  {
    words: ["catalog", "history"],
    operands: [],
    options: [{ name: "before", value: "VERSION", isNumber: true }],
    about: "versions with author and reason, newest first",
    request: (_, { before }) => ({
      method: "GET",
      path: `/catalog/versions${before === undefined ? "" : `?${new URLSearchParams({ before })}`}`,
    }),
  },
  {
    words: ["catalog", "rollback"],
    operands: ["VERSION"],
    options: [{ name: "reason", value: "R", needed: true }, { name: "from", value: "TIME" }],
    about:
      `make a version with the contents of an older one; R: 1 to ${maxCatalogReasonChars} characters`,
    request: ([version], { reason, from }) => ({
      method: "POST",
      path: "/catalog/rollback",
      body: { version: Number(version), reason, effective_from: from },
    }),
  },
  {
    words: ["catalog", "withdraw"],
    operands: [],
    options: [{ name: "reason", value: "R", needed: true }],
    about: "take back the version that waits for its time",
    request: (_, body) => ({ method: "DELETE", path: "/catalog/scheduled", body }),
  },
  {
    words: ["provider-key", "list"],
    operands: [],
    options: [],
    about: "keys of providers that are sealed in the store, without their secrets",
    request: () => ({ method: "GET", path: "/api/provider-keys" }),
  },
  {
    words: ["provider-key", "add"],
    operands: ["NAME"],
    options: [],
    about: "seal a key in the store; it is read from the standard input, which it must be alone in",
    request: ([name]) => ({
      method: "POST",
      path: "/api/provider-keys",
      body: { name },
      readsSecret: true,
    }),
  },
  {
    words: ["provider-key", "replace"],
    operands: ["NAME"],
    options: [],
    about: "put another key in its place, read from the standard input",
    request: ([name]) => ({
      method: "PUT",
      path: providerKeyPath(name),
      body: {},
      readsSecret: true,
    }),
  },
  {
    words: ["provider-key", "remove"],
    operands: ["NAME"],
    options: [{ name: "force" }],
    about: "remove one for good; --force: although providers of the catalogue name it",
    request: ([name], { force }) => ({
      method: "DELETE",
      path: providerKeyPath(name),
      body: force === undefined ? {} : { force: true },
    }),
  },
  {
    words: ["provider-key", "reseal"],
    operands: [],
    options: [],
    about: "seal them with the newest master key, so that an older one can be given up",
    request: () => ({ method: "POST", path: "/api/provider-key-seals", body: {} }),
  },
  {
    words: ["route", "test"],
    operands: ["MODEL", "ROUTE"],
    options: [],
    about: "send one small chat call through a route of the running gateway; nobody is charged",
    request: ([model, route]) => ({
      method: "POST",
      path: "/api/route-test",
      body: { model, route },
    }),
  },
  {
    words: ["maintenance", "on"],
    operands: [],
    options: [{ name: "message", value: "M" }],
    about: "answer calls with 503 and this message",
    request: (_, options) => ({
      method: "POST",
      path: "/maintenance",
      body: { on: true, ...options },
    }),
  },
  {
    words: ["maintenance", "off"],
    operands: [],
    options: [],
    about: "answer calls again",
    request: () => ({ method: "POST", path: "/maintenance", body: { on: false } }),
  },
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
  const unclear = form.options.find(({ name, isNumber }) =>
    isNumber === true && !/^\d{1,9}$/.test(options[name] ?? "0")
  );
  return unclear && `--${unclear.name} must be a number`;
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
