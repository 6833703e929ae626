/**
 * Removes from a provider's text what identifies the operator: keys, accounts, projects, deployments, requests, addresses.
 *
 * Known forms are removed first. What is left and looks like an identifier, long and with letters and digits mixed, is
 * removed as well, unless it is one that the caller sent, such as the id of a tool call. Names of models, paths of
 * fields, numbers and words stay.
 */
import { keyForms } from "../../lib/base/key_forms.ts";

const removed = "[removed]";

/** Ids with the prefix of what they name. */
const idForms: readonly string[] = [
  String
    .raw`(?:org|organization|proj|project|team|acct|acc|account|tenant|ws|wrkspc|workspace|user|usr|sub|cus|req|trace|log|ep|ak|as|gen|endpoint|deployment)[-_](?=[\w-]*\d)[\w-]{4,}`,
  String.raw`arn:[\w-]+:[^\s'"\x60,;)]+`,
  // Google, Azure and Fireworks write the operator into paths.
  String
    .raw`(?:projects|subscriptions|accounts|resourceGroups|organizations|tenants|workspaces|deployments)/[^\s'"\x60,;)]+`,
  String.raw`[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`,
];

const url = /\b[a-z][a-z0-9+.-]{0,20}:\/\/\S+/gi;
const mail = /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}/g;
const host =
  /\b[\w-]+(?:\.[\w-]+)*\.(?:com|net|org|io|ai|dev|app|cloud|co|cn|vn|eu|us|internal|local|svc)\b(?::\d+)?\S*/gi;
const address = /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g;
const forms = new RegExp(`(?<![\\w-])(?:${[...keyForms, ...idForms].join("|")})`, "g");

/** Nouns of what an operator has, before its id or name. */
const owned = String
  .raw`(?:(?:cloud |aws |api |your |billing )?(?:accounts?|organi[sz]ations?|projects?|teams?|tenants?|workspaces?|subscriptions?|deployments?|resources?|customers?)|(?:account|organi[sz]ation|project|team|tenant|workspace|subscription|deployment|resource|customer|user|request|trace|log|session|correlation|event|api key|access key|key|endpoint|group)[ _-]?ids?|requestid)`;

/** An id or name after the word for it: `Team: 0000`, `Request ID abc1`, `project 'acme'`, `Account acme-prod`. */
const labelled = new RegExp(
  `\\b(${owned}(?: names?)?(?: is)?\\s{0,2}[:=#]?\\s{0,2})` +
    "(?:(['\"`])[^'\"`]{1,100}\\2|(?=[\\w./-]{0,100}[\\d_/-])[\\w.:/@-]{1,100}\\w)",
  "gi",
);

/** A name after a capitalised word and a colon: `Team: Acme,`. */
const named =
  /\b((?:Account|Organi[sz]ation|Project|Team|Tenant|Workspace|Subscription|Deployment|Customer): )[\w .-]{1,60}(?=[,;)]|$)/g;

/** Ids that the caller sent or got: they name parts of his own request. */
const callers =
  /^(?:call|toolu|tooluse|srvtoolu|fc|fco|msg|rs|resp|file|item|ctc|mcp|ws|ig|ci|chatcmpl-tool|batch|vs|video|img|conv|cmpl|functions?)[-_.:]/i;

/** A run of characters that ids are made of, long enough for one. */
const run = /[A-Za-z0-9_+/=-]{16,}/g;

/** Whether a run looks like an identifier: a part that is long, or with letters and digits mixed as no name has them. */
function isIdentifier(text: string): boolean {
  if (callers.test(text)) return false;
  return text.split(/[-_/+=]/).some((part) => {
    if (part.length < 12 || !/\d/.test(part) || !/[A-Za-z]/.test(part)) return false;
    const changes = part.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0;
    return changes >= 3;
  });
}

/**
 * Masks a text.
 *
 * @param text of bounded length, on one line
 *
 * @example
 * ```ts
 * import { masked } from "./masking.ts";
 * const text = masked("Rate limit for org-aB3dE5 on gpt-4o-2024-08-06 (Request ID: 8f3c)");
 * if (text !== "Rate limit for [removed] on gpt-4o-2024-08-06 (Request ID: [removed])") throw new Error(text);
 * ```
 */
export function masked(text: string): string {
  return text.replace(url, removed).replace(mail, removed).replace(forms, removed)
    .replace(host, removed).replace(address, removed)
    .replace(labelled, (_, label: string) => `${label}${removed}`).replace(named, `$1${removed}`)
    .replace(run, (id) => isIdentifier(id) ? removed : id);
}
