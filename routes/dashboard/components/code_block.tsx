/** A block of code with a copy button, its words in the colours of their kind. */
import { raw } from "hono/html";
import type { Locale } from "../text/i18n.ts";
import { CopyButton } from "./blocks.tsx";

/** The languages of the pages, each with what names code in it: the language itself, or the end of a file's name. */
const languages = {
  bash: /^(?:curl|shell)$/iu,
  python: /^python$/iu,
  typescript: /^typescript$/iu,
  json: /\.json$/u,
  ini: /\.toml$/u,
} as const satisfies Readonly<Record<string, RegExp>>;

type Language = keyof typeof languages;

const languageNames = Object.keys(languages) as Language[];

/** The language of code by its name; `undefined` for values such as an address. */
function languageOf(name: string): Language | undefined {
  return languageNames.find((language) => languages[language].test(name));
}

type Highlight = (code: string, language: Language) => string;

/** The library, read with the first page that has code: calls never need it. */
let loading: Promise<Highlight> | undefined;

async function load(): Promise<Highlight> {
  const [{ default: library }, ...grammars] = await Promise.all([
    import("highlight.js/lib/core"),
    import("highlight.js/lib/languages/bash"),
    import("highlight.js/lib/languages/python"),
    import("highlight.js/lib/languages/typescript"),
    import("highlight.js/lib/languages/json"),
    import("highlight.js/lib/languages/ini"),
  ]);
  for (const [at, name] of languageNames.entries()) {
    const grammar = grammars[at]?.default;
    if (grammar !== undefined) library.registerLanguage(name, grammar);
  }
  return (code, language) => library.highlight(code, { language }).value;
}

/** The block. `name` is the language, or the file that the code belongs into. */
export async function CodeBlock({ code, name, what, locale }: {
  code: string;
  name: string;
  what: string;
  locale: Locale;
}) {
  const language = languageOf(name);
  // The library escapes what it is given, and adds nothing but spans with classes.
  const shown = language === undefined ? code : raw((await (loading ??= load()))(code, language));
  return (
    <div class="code-block">
      <pre tabindex={0} role="region" aria-label={what}><code>{shown}</code></pre>
      <CopyButton text={code} what={what} locale={locale} />
    </div>
  );
}
