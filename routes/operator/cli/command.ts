/**
 * Parses the arguments of `deno task admin` into one request to the admin app. A command that is not understood to its
 * last word is refused: a command that moves money must not do a part of what was meant.
 */
import {
  type AdminRequest,
  adminUsage,
  type CommandForm,
  commandForms,
  formLine,
} from "./command_forms.ts";

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
  const needed = form.options.find((option) =>
    option.needed === true && options[option.name] === undefined
  );
  return needed && `--${needed.name} is missing`;
}

/**
 * Parses a command.
 *
 * @example
 * ```ts
 * import { readAdminCommand } from "./command.ts";
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
