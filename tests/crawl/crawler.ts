/** Follows what pages offer, as one person in one language, and says what is wrong with it. */
import { may, type Role } from "../../core/people/organisations/acts.ts";
import type { LoadedPage, TestBrowser } from "../support/browser/test_browser.ts";
import { consentRequest } from "../support/worlds/consent_request.ts";
import type { Route } from "../support/worlds/two_instances.ts";
import { type HtmlElement, type HtmlPage, readHtml } from "./html_page.ts";
import { pageProblems } from "./page_problems.ts";
import type { TextTables } from "./text_tables.ts";

/** What a link leads to. `part`: what a script puts into the page; `file`: an image, a style, a script, a download. */
type LinkKind = "page" | "part" | "file";

interface Link {
  readonly kind: LinkKind;
  /** Path and query. */
  readonly path: string;
  readonly fragment: string;
  /** The page that offers it. */
  readonly from: string;
}

/** What was looked at, and what is wrong. */
export interface CrawlReport {
  readonly pages: ReadonlyMap<string, PageKind>;
  readonly links: number;
  readonly forms: number;
  /** Each with the page on which it is. */
  readonly problems: readonly string[];
}

/** The registered path of a page. */
export type PageKind = string;

/** Pages of one registered path and the same parameters that are looked at: more of them are the same page again. */
const maxAlike = 2;

/** Files of one registered path and kind that are looked at: those of a month may differ from those of another. */
const maxFilesAlike = 4;

/** Pages of one registered path that are looked at, whatever their parameters. */
const maxOfPath = 8;

/** Redirects that are followed one after the other. */
const maxRedirects = 5;

/** A page that nobody serves: it has the frame of the others. */
export const missingPage = "/no-such-page";

/** Where a walk begins: the rest is found by links. */
const starts = ["/", "/sign-in", missingPage];

/** The registered paths of an app, to find the one that a request belongs to. */
export class RouteTable {
  readonly #routes: readonly {
    readonly method: string;
    readonly path: string;
    readonly pattern: URLPattern;
  }[];
  readonly #found = new Map<string, string | undefined>();

  constructor(routes: readonly Route[]) {
    this.#routes = routes.map(({ method, path }) => {
      const pathname = path.replaceAll(/(:\w+)\{(.+?)\}(?=\/|$)/g, "$1($2)");
      return { method, path, pattern: new URLPattern({ pathname }) };
    });
  }

  /** The registered path, those without parameters first. */
  find(method: string, path: string): string | undefined {
    const pathname = path.split("?")[0] ?? path;
    const key = `${method} ${pathname}`;
    if (this.#found.has(key)) return this.#found.get(key);
    const exact = this.#routes.find((one) => one.method === method && one.path === pathname);
    const route = exact ??
      this.#routes.find((one) => one.method === method && one.pattern.test({ pathname }));
    this.#found.set(key, route?.path);
    return route?.path;
  }
}

/** What a crawl needs beside a browser. */
export interface CrawlOptions {
  readonly origin: string;
  readonly locale: "vi" | "en";
  readonly role: Role | undefined;
  readonly routes: RouteTable;
  readonly tables: TextTables;
  /** Files that were fetched already, which look the same to everybody. */
  readonly knownFiles: Set<string>;
}

/** The fields that a browser would send of a form that is sent as it is. */
function queryOf({ elements }: HtmlPage, form: HtmlElement): string {
  const query = new URLSearchParams();
  const isOf = (element: HtmlElement) => {
    for (let one = element.parent; one !== undefined; one = one.parent) {
      if (one === form) return true;
    }
    return false;
  };
  for (const element of elements.filter(isOf)) {
    const { name, attributes } = element;
    if (attributes["name"] === undefined || "disabled" in attributes) continue;
    const isTick = ["checkbox", "radio"].includes(attributes["type"] ?? "");
    if (name === "input" && (!isTick || "checked" in attributes)) {
      query.append(attributes["name"], attributes["value"] ?? (isTick ? "on" : ""));
    } else if (name === "select") {
      const options = elements.filter((one) => one.name === "option" && one.parent === element);
      const chosen = options.find((one) => "selected" in one.attributes) ?? options[0];
      query.append(attributes["name"], chosen?.attributes["value"] ?? "");
    }
  }
  return query.size === 0 ? "" : `?${query}`;
}

/** What the elements of a page lead to, and how. */
function targetsOf(page: HtmlPage, at: string): readonly (readonly [LinkKind, string])[] {
  const here = at.split("?")[0] ?? at;
  return page.elements.flatMap((element): (readonly [LinkKind, string])[] => {
    const { name, attributes } = element;
    const { href, src, content } = attributes;
    const found: (readonly [LinkKind, string])[] = [];
    if (attributes["hx-get"] !== undefined) found.push(["part", attributes["hx-get"]]);
    for (const data of ["data-suggestions", "data-log"]) {
      const path = attributes[data];
      if (path !== undefined) found.push(["part", path]);
    }
    if (name === "a" && href !== undefined) {
      found.push(["download" in attributes ? "file" : "page", href]);
    }
    if (name === "link" && href !== undefined) found.push(["file", href]);
    if (["script", "img", "source", "audio", "video"].includes(name) && src !== undefined) {
      found.push(["file", src]);
    }
    if (name === "meta" && /^og:(?:image|url)$/.test(attributes["property"] ?? "")) {
      found.push(["file", content ?? ""]);
    }
    if (name === "form" && (attributes["method"] ?? "get").toLowerCase() === "get") {
      const [action = here, fragment] = (attributes["action"] ?? here).split("#");
      const end = fragment === undefined ? "" : `#${fragment}`;
      found.push(["page", action + queryOf(page, element) + end]);
    }
    return found;
  });
}

/** A walk of one person in one language. */
class Crawl {
  readonly #browser: TestBrowser;
  readonly #options: CrawlOptions;
  readonly #queue: Link[] = [];
  readonly #seen = new Set<string>();
  readonly #alike = new Map<string, number>();
  readonly #ids = new Map<string, ReadonlySet<string>>();
  readonly #fragments: Link[] = [];
  readonly #problems = new Set<string>();
  readonly #pages = new Map<string, PageKind>();
  #links = 0;
  #forms = 0;

  constructor(browser: TestBrowser, options: CrawlOptions) {
    this.#browser = browser;
    this.#options = options;
  }

  async run(): Promise<CrawlReport> {
    const { role } = this.#options;
    const mayAllow = role === undefined || may(role, "change_keys");
    for (const path of [...starts, ...(mayAllow ? [consentRequest] : [])]) {
      this.#offer({ kind: "page", path, fragment: "", from: "the start" });
    }
    for (let link = this.#queue.shift(); link !== undefined; link = this.#queue.shift()) {
      await this.#follow(link);
    }
    for (const { path, fragment, from } of this.#fragments) {
      const ids = this.#ids.get(path);
      if (ids !== undefined && !ids.has(fragment)) {
        this.#problems.add(`${from}: ${path}#${fragment} leads to no such part`);
      }
    }
    return {
      pages: this.#pages,
      links: this.#links,
      forms: this.#forms,
      problems: [...this.#problems],
    };
  }

  /** Takes a link, unless enough pages like it were taken. */
  #offer(link: Link): void {
    this.#links++;
    const { kind, path, fragment } = link;
    if (fragment !== "" && kind === "page") this.#fragments.push(link);
    if (this.#seen.has(path)) return;
    this.#seen.add(path);
    if (kind === "file" && path.startsWith("/assets/")) {
      if (this.#options.knownFiles.has(path)) return;
      this.#options.knownFiles.add(path);
    } else {
      const names = [...new URL(path, this.#options.origin).searchParams.keys()].sort();
      const [extension = ""] = /\.\w+$/.exec(path.split("?")[0] ?? "") ?? [];
      const registered = (this.#options.routes.find("GET", path) ?? path) + extension;
      const shape = `${kind} ${registered}?${names.join("&")}`;
      const bounds = [
        [shape, extension === "" ? maxAlike : maxFilesAlike],
        [`${kind} ${registered}`, maxOfPath],
      ] as const;
      if (bounds.some(([name, most]) => (this.#alike.get(name) ?? 0) >= most)) return;
      for (const [name] of bounds) this.#alike.set(name, (this.#alike.get(name) ?? 0) + 1);
    }
    this.#queue.push(link);
  }

  async #follow(link: Link): Promise<void> {
    const { kind, path, from } = link;
    const say = (what: string) => this.#problems.add(`${from} → ${path}: ${what}`);
    const headers: Record<string, string> = kind === "part"
      ? { "hx-request": "true", accept: "*/*" }
      : kind === "file"
      ? { accept: "*/*" }
      : {};
    let answer = await this.#browser.get(path, headers);
    for (let at = 0; answer.headers.get("location") !== null && at < maxRedirects; at++) {
      const location = new URL(answer.headers.get("location") ?? "", this.#options.origin);
      if (location.origin !== this.#options.origin) return;
      answer = await this.#browser.get(location.pathname + location.search, headers);
    }
    const expected = path === missingPage ? 404 : 200;
    // A part of a page that has not changed has no content.
    if (kind === "part" && answer.status === 204) return;
    if (answer.status !== expected) return void say(`status ${answer.status}`);
    const type = answer.headers.get("content-type") ?? "";
    const isFile = kind === "file" || answer.headers.has("content-disposition") ||
      /\.\w+$/.test(path.split("?")[0] ?? "");
    if (isFile) return;
    // What pages name of the API is for programs.
    if (path.startsWith("/v1/") || (kind === "part" && type.startsWith("application/json"))) return;
    if (!type.startsWith("text/html")) return void say(`a page answers ${type}`);
    this.#read(answer, kind, link);
  }

  #read(answer: LoadedPage, kind: LinkKind, { path: asked, from }: Link): void {
    const { locale, role, routes, tables } = this.#options;
    const { path } = answer;
    const page = readHtml(answer.text);
    if (kind === "page") {
      const ids = new Set(page.elements.map(({ attributes: { id } }) => id ?? ""));
      this.#ids.set(path, ids);
      this.#ids.set(asked, ids);
      this.#pages.set(path, routes.find("GET", path) ?? path);
      const surroundings = {
        locale,
        role,
        tables,
        takesPost: (action: string) => routes.find("POST", action || path) !== undefined,
      };
      for (const problem of pageProblems(page, surroundings)) {
        this.#problems.add(`${path}: ${problem}`);
      }
    }
    this.#forms += page.elements.filter(({ name }) => name === "form").length;
    for (const [target, href] of targetsOf(page, path)) {
      const url = URL.parse(href, this.#options.origin + path);
      if (url === null) this.#problems.add(`${from}: no address: ${href}`);
      else if (url.origin === this.#options.origin) {
        const fragment = decodeURIComponent(url.hash.slice(1));
        this.#offer({ kind: target, path: url.pathname + url.search, fragment, from: path });
      }
    }
  }
}

/** Walks through everything that is offered to the person of a browser. */
export async function crawl(browser: TestBrowser, options: CrawlOptions): Promise<CrawlReport> {
  return await new Crawl(browser, options).run();
}
