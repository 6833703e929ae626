/** A browser without rendering: keeps cookies, follows redirects on request, and fills forms that are on the page. */

export interface LoadedPage {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Path and query that were asked for. */
  readonly path: string;
}

type Fetch = (request: Request) => Response | Promise<Response>;

interface FoundForm {
  readonly action: string;
  readonly fields: [string, string][];
}

function unescapeHtml(text: string): string {
  return text.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

function attribute(tag: string, name: string): string | undefined {
  const match = new RegExp(`\\s${name}="([^"]*)"`).exec(tag);
  return match === null ? undefined : unescapeHtml(match[1]!);
}

/** The forms of a page with the fields that a browser would send: hidden, typed, ticked and selected ones. */
export function formsOf(html: string): FoundForm[] {
  return [...html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)].map(([, head, body]) => {
    const fields: [string, string][] = [];
    for (const [tag] of body!.matchAll(/<input\b[^>]*>/g)) {
      const name = attribute(tag, "name");
      const type = attribute(tag, "type");
      if (name === undefined || (type === "checkbox" && !/\schecked\b/.test(tag))) continue;
      fields.push([name, attribute(tag, "value") ?? ""]);
    }
    for (const [, tag, inner] of body!.matchAll(/<select\b([^>]*)>([\s\S]*?)<\/select>/g)) {
      const options = [...inner!.matchAll(/<option\b[^>]*>/g)].map(([option]) => option);
      const chosen = options.find((option) => /\sselected\b/.test(option)) ?? options[0] ?? "";
      fields.push([attribute(tag!, "name") ?? "", attribute(chosen, "value") ?? ""]);
    }
    for (const [, tag, inner] of body!.matchAll(/<textarea\b([^>]*)>([\s\S]*?)<\/textarea>/g)) {
      fields.push([attribute(tag!, "name") ?? "", unescapeHtml(inner!)]);
    }
    return { action: attribute(head!, "action") ?? "", fields };
  });
}

export class TestBrowser {
  readonly cookies = new Map<string, string>();
  readonly #fetch: Fetch;
  readonly #origin: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(fetch: Fetch, origin: string, headers: Record<string, string> = {}) {
    this.#fetch = fetch;
    this.#origin = origin;
    this.#headers = { accept: "text/html", "accept-language": "en", ...headers };
  }

  async send(path: string, init: RequestInit = {}): Promise<LoadedPage> {
    const headers = new Headers({ ...this.#headers });
    if (this.cookies.size > 0) {
      headers.set(
        "cookie",
        [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; "),
      );
    }
    for (const [name, value] of new Headers(init.headers)) headers.set(name, value);
    const response = await this.#fetch(new Request(this.#origin + path, { ...init, headers }));
    for (const cookie of response.headers.getSetCookie()) this.#keep(cookie);
    return {
      status: response.status,
      headers: response.headers,
      text: await response.text(),
      path,
    };
  }

  #keep(cookie: string): void {
    const [pair = "", ...attributes] = cookie.split("; ");
    const at = pair.indexOf("=");
    const gone = attributes.some((text) => /^max-age=0$/i.test(text));
    if (gone) this.cookies.delete(pair.slice(0, at));
    else this.cookies.set(pair.slice(0, at), pair.slice(at + 1));
  }

  get(path: string, headers: Record<string, string> = {}): Promise<LoadedPage> {
    return this.send(path, { headers: { "sec-fetch-site": "same-origin", ...headers } });
  }

  /** Posts fields unchanged, with or without the token. */
  post(
    path: string,
    fields: Readonly<Record<string, string>> | [string, string][],
    headers: Record<string, string> = {},
  ): Promise<LoadedPage> {
    return this.send(path, {
      method: "POST",
      body: new URLSearchParams(fields),
      headers: { origin: this.#origin, "sec-fetch-site": "same-origin", ...headers },
    });
  }

  /** Fills the form with this action on the page and sends it. Fields that are not given keep their values. */
  submit(
    page: LoadedPage,
    action: string,
    fields: Readonly<Record<string, string | readonly string[]>> = {},
    headers: Record<string, string> = {},
  ): Promise<LoadedPage> {
    const form = formsOf(page.text).find((found) => found.action === action);
    if (form === undefined) throw new Error(`There is no form to ${action} on ${page.path}`);
    const kept = form.fields.filter(([name]) => !(name in fields));
    const given = Object.entries(fields).flatMap(([name, values]) =>
      [values].flat().map((value): [string, string] => [name, value])
    );
    return this.post(action, [...kept, ...given], headers);
  }

  /** Goes where a redirect leads. */
  follow(page: LoadedPage): Promise<LoadedPage> {
    const location = page.headers.get("location");
    if (location === null) throw new Error(`${page.path} does not redirect: ${page.status}`);
    return this.get(location.replace(this.#origin, ""));
  }
}
