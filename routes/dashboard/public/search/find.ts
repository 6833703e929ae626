/** Search over pages, models, keys, guides, endpoints of the API and error codes; for operators customers, too. */
import type { Context } from "hono";
import { may } from "../../../../core/people/organisations/acts.ts";
import { mayVisit } from "../../page/page_acts.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { foldVietnamese, parseOrderCode } from "../../../../core/trade/bank/order_code.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { findAccountsByEmailStart } from "../../../../kv/people/accounts/accounts.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import { readRefusedCall } from "../../../../kv/services/calls/refused_calls.ts";
import { readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import { tags } from "../../../openapi/operation.ts";
import { failureCodesOfPages, wordsOfCode } from "../../customer/usage/failure_words.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import type { Locale } from "../../text/i18n.ts";
import { docsTexts, factsOf, operationPath } from "../docs/docs_frame.tsx";
import type { GuideSection } from "../docs/guides/guide.ts";
import { guides } from "../docs/guides/guides.ts";
import { type DocumentSource, idOf, operationsOf } from "../docs/reference.tsx";

/** Characters of a search. */
export const maxQueryChars = 80;

/** One thing that was found. */
export interface Found {
  readonly href: string;
  readonly name: string;
  /** Note that tells it from others of its kind. */
  readonly note?: string;
}

/** The kinds of things, in the order in which they are shown. */
const foundKinds = [
  "customers",
  "providers",
  "operatorPages",
  "pages",
  "models",
  "keys",
  "guides",
  "endpoints",
  "codes",
] as const;

export type FoundKind = typeof foundKinds[number];

/** The things of one kind. */
export interface FoundGroup {
  readonly kind: FoundKind;
  readonly found: readonly Found[];
}

/** Entries whose name has the text, those that begin with it first. */
function named(all: readonly Found[], wanted: string): readonly Found[] {
  return all.map((one) => ({ one, at: foldVietnamese(one.name).indexOf(wanted) }))
    .filter(({ at }) => at >= 0)
    .sort((one, other) => Math.min(one.at, 1) - Math.min(other.at, 1))
    .map(({ one }) => one);
}

function pagesOf(c: Context<DashboardEnv>): Found[] {
  const { visitor, signedIn, navigation } = c.var;
  return (navigation?.items ?? []).map(({ entry }) => entry)
    .filter(({ operatorsOnly }) => operatorsOnly !== true || signedIn.isOperator)
    .filter(({ href }) => mayVisit(signedIn, href))
    .map(({ href, label }) => ({ href, name: label[visitor.locale] }));
}

/** The operator's pages, which stand below one entry of the navigation, by their own names. */
function operatorPagesOf(
  { var: { visitor, signedIn, navigation } }: Context<DashboardEnv>,
): Found[] {
  if (!signedIn.isOperator) return [];
  return (navigation?.items ?? []).flatMap(({ entry: { operatorsOnly, within = [] } }) =>
    operatorsOnly === true
      ? within.map(({ href, label }) => ({ href, name: label[visitor.locale] }))
      : []
  );
}

function hasText({ title, text, table = [], code = [] }: GuideSection, wanted: string): boolean {
  return [title, ...text, ...table.flat(), ...code.map(({ code }) => code)]
    .some((part) => foldVietnamese(part).includes(wanted));
}

/** The guides that have the text anywhere, with the first section that does. */
function guidesWith(deps: DashboardDeps, wanted: string, locale: Locale): Found[] {
  return guides.flatMap(({ slug, texts }): Found[] => {
    const { title, lead, sections } = texts(factsOf(deps))[locale];
    const href = `/docs/${slug}`;
    if (foldVietnamese(`${title} ${lead}`).includes(wanted)) return [{ href, name: title }];
    const section = sections.find((one) => hasText(one, wanted));
    return section === undefined ? [] : [{ href, name: title, note: section.title }];
  }).sort((one, other) => Number("note" in one) - Number("note" in other));
}

function errorCodes(locale: Locale): Found[] {
  return failureCodesOfPages.map((code) => ({
    href: `/docs/errors#${code}`,
    name: code,
    note: wordsOfCode(code, locale).what,
  }));
}

/** Characters of an address from which customers are suggested: fewer fit everybody. */
const minAddressChars = 2;

/** Customers that a search leads an operator to: by the begin of an address, an id, or the code of an order. */
async function customersOf(
  kv: KeyValueStore,
  query: string,
  maxFound: number,
): Promise<Found[]> {
  if (
    parseId("account", query) !== undefined || parseOrderCode(query.toUpperCase()) !== undefined
  ) return [{ href: `/operator/accounts?q=${encodeURIComponent(query)}`, name: query }];
  const start = query.toLowerCase();
  if (start.length < minAddressChars) return [];
  const accounts = await findAccountsByEmailStart(kv, start, maxFound);
  return accounts.map(({ email, accountId }) => ({
    href: `/operator/accounts/${accountId}`,
    name: email,
  }));
}

/** Lists the endpoints of the API by method and path. */
async function endpointsOf(source: DocumentSource): Promise<Found[]> {
  const document = await source();
  return Object.keys(tags).flatMap((tag) =>
    operationsOf(document, tag).map((one) => {
      const { method, path, operation: { summary } } = one;
      return {
        href: operationPath(tag, idOf(one)),
        name: `${method.toUpperCase()} ${path}`,
        ...typeof summary === "string" && { note: summary },
      };
    })
  );
}

/** Text that is searched for. */
export interface SearchQuery {
  readonly query: string;
  /** Things of each kind. */
  readonly maxOfKind: number;
  /** The API that the reference describes. */
  readonly source: DocumentSource;
}

/** Finds what a text names, by a part of its name; guides by any of their words. */
export async function findNamed(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  { query, maxOfKind, source }: SearchQuery,
): Promise<FoundGroup[]> {
  const { visitor: { locale }, signedIn: { account, isOperator, role } } = c.var;
  const wanted = foldVietnamese(query);
  const keys = may(role, "view_keys") ? await listApiKeys(deps.kv, account.id) : [];
  const found: Record<FoundKind, readonly Found[]> = {
    customers: isOperator ? await customersOf(deps.kv, query, maxOfKind) : [],
    providers: isOperator
      ? named(
        Object.keys(deps.catalog.providers).map((name) => ({
          href: `/operator/provider-routes?${new URLSearchParams({ q: name })}`,
          name,
        })),
        wanted,
      )
      : [],
    operatorPages: named(operatorPagesOf(c), wanted),
    pages: named(
      [...pagesOf(c), { href: "/docs/tools", name: docsTexts[locale].tools }],
      wanted,
    ),
    models: named(
      deps.catalog.models.map(({ id, displayName }) => ({
        href: `/models/${encodeURIComponent(id)}`,
        name: id,
        note: displayName,
      })),
      wanted,
    ),
    keys: named(
      keys.map(({ id, name, masked }) => ({ href: `/keys/${id}`, name, note: masked })),
      wanted,
    ),
    guides: guidesWith(deps, wanted, locale),
    endpoints: named(await endpointsOf(source), wanted),
    codes: named(errorCodes(locale), wanted),
  };
  return foundKinds.map((kind) => ({ kind, found: found[kind].slice(0, maxOfKind) }))
    .filter(({ found }) => found.length > 0);
}

/** The page of a call: an operator's, if it is a call of another account and the visitor is one. */
export async function callPath(
  c: Context<DashboardEnv>,
  { kv }: DashboardDeps,
  text: string,
): Promise<string | undefined> {
  const requestId = parseId("request", text);
  if (requestId === undefined) return undefined;
  const { account, isOperator } = c.get("signedIn");
  if (!isOperator) return `/receipts/${requestId}`;
  const call = await readReceipt(kv, requestId) ?? await readRefusedCall(kv, requestId);
  return call === undefined || call.accountId === account.id
    ? `/receipts/${requestId}`
    : `/operator/calls/${requestId}`;
}
