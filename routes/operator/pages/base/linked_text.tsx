/** Texts of the audit log and of operators as people read them: ids are links, amounts have the form of the page. */
import type { Child } from "hono/jsx";
import { type AccountId, parseId } from "../../../../core/lib/ids/ids.ts";
import { bankSources, isEventId } from "../../../../core/trade/bank/bank_notice.ts";
import { type Account, accountName, getAccount } from "../../../../kv/people/accounts/accounts.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { noticePath } from "./notice_views.tsx";
import { parseVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { formatMoney } from "../../../dashboard/text/format.ts";

/** Lines of one list. */
const maxLines = 50;

/** An amount as verifications write it. */
const writtenAmount = /(?<![\w.])(-?\d+(?:\.\d+)?) (µ?)VND\b/g;

/** Writes the amounts of a line as the language does, exactly. */
export function withAmounts(line: string, locale: Locale): string {
  return line.replace(writtenAmount, (written, number: string, micro: string) => {
    const isMicro = micro !== "" && /^-?\d+$/.test(number);
    const microVnd = isMicro ? BigInt(number) : micro === "" ? parseVnd(number) : undefined;
    return microVnd === undefined ? written : formatMoney(microVnd, locale);
  });
}

/** The first problems that a verification found, one to a line, in English as in the log. */
export function ProblemLines({ problems, locale }: {
  problems: readonly string[];
  locale: Locale;
}) {
  return (
    <>
      {problems.slice(0, maxLines).map((problem) => (
        <p key={problem} lang="en">{withAmounts(problem, locale)}</p>
      ))}
    </>
  );
}

/** Names of accounts by their ids; those of accounts that do not exist are absent. */
export type AccountNames = ReadonlyMap<AccountId, string>;

/** Ids that are looked up for one page: a page of lines names one or two each. */
const maxNames = 200;

const idForm = /\b(?:acc|inv|apr|cmp|req)_[0-9a-z]+/g;

/** Reads the names of some accounts. */
export async function namesOf(
  kv: KeyValueStore,
  ids: Iterable<AccountId>,
): Promise<AccountNames> {
  const wanted = [...new Set(ids)].slice(0, maxNames);
  const accounts = await Promise.all(wanted.map((id) => getAccount(kv, id)));
  const known = accounts.filter((account): account is Account => account !== undefined);
  return new Map(known.map((account) => [account.id, accountName(account)]));
}

/** Name on pages of an account of which an id is known: the organisation, else the address, else the id. */
export function nameOfAccount(account: Account | undefined, id: string): string {
  return account === undefined ? id : accountName(account);
}

/** Finds the accounts that texts name. */
export function accountsIn(texts: Iterable<string>): AccountId[] {
  return [...texts].flatMap((text) =>
    [...text.matchAll(idForm)].flatMap(([id]) => parseId("account", id) ?? [])
  );
}

/** An address in one piece; a long one is cut, and whole in its title. */
export function Person({ address }: { address: string }) {
  return <span class="person" title={address}>{address}</span>;
}

/** The link to a customer, by the name of the organisation or the address; by id, if there is none. */
export function CustomerLink({ id, names }: { id: AccountId; names: AccountNames }) {
  return (
    <a href={`/operator/accounts/${id}`}>
      <Person address={names.get(id) ?? id} />
    </a>
  );
}

/** Links of ids, by the begin of the id; a call is known by its id, all others by what they are. */
const things: Readonly<
  Record<string, { readonly folder: string; readonly name?: Readonly<Record<Locale, string>> }>
> = {
  inv_: { folder: "invoices", name: { en: "invoice request", vi: "yêu cầu hoá đơn" } },
  apr_: { folder: "approvals", name: { en: "approval", vi: "phê duyệt" } },
  cmp_: { folder: "campaigns", name: { en: "campaign", vi: "chương trình tặng tiền" } },
  req_: { folder: "calls" },
};

/** The link to what an id names. */
function linkTo(id: string, names: AccountNames, locale: Locale): Child {
  const account = parseId("account", id);
  if (account !== undefined) return <CustomerLink id={account} names={names} />;
  const { folder = "", name = undefined } = things[id.slice(0, 4)] ?? {};
  return <a href={`/operator/${folder}/${id}`} title={id}>{name?.[locale] ?? id}</a>;
}

/** The link to a notice that a text is the name of; `undefined` if it is none. */
function noticeLink(text: string): Child | undefined {
  const [name = "", ...rest] = text.replace(/^in:/, "").split(":");
  const source = bankSources.find((one) => one === name);
  const id = rest.join(":");
  if (source === undefined || !isEventId(id)) return undefined;
  return <a href={noticePath({ source, id })}>{`${source}:${id}`}</a>;
}

/** The link to a version of the catalogue that a text is the name of; `undefined` if it is none. */
function versionLink(text: string): Child | undefined {
  const [, version] = /^version (\d{1,9})$/.exec(text) ?? [];
  if (version === undefined) return undefined;
  return <a href={`/operator/catalogue/versions/${version}`}>{text}</a>;
}

/** A text with links in place of ids. */
export function LinkedText({ text, names, locale }: {
  text: string;
  names: AccountNames;
  locale: Locale;
}) {
  const whole = noticeLink(text) ?? versionLink(text);
  if (whole !== undefined) return <>{whole}</>;
  const parts: Child[] = [];
  let from = 0;
  for (const match of text.matchAll(idForm)) {
    parts.push(withAmounts(text.slice(from, match.index), locale), linkTo(match[0], names, locale));
    from = match.index + match[0].length;
  }
  return <>{[...parts, withAmounts(text.slice(from), locale)]}</>;
}

/** An operation id before a reason, which nobody reads. */
const operationId = /^(?:[a-z_]+:)+[0-9a-f]{8}-[0-9a-f-]{27}: /;

/** The detail of an audit line: without the id of the operation, which the title keeps. */
export function AuditDetail({ text, names, locale }: {
  text: string;
  names: AccountNames;
  locale: Locale;
}) {
  const shown = text.replace(operationId, "");
  return (
    <span title={shown === text ? undefined : text}>
      <LinkedText text={shown} names={names} locale={locale} />
    </span>
  );
}
