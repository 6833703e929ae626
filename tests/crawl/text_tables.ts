/** The texts that the sources have in each language, and the words that only the English ones use. */
import ts from "typescript";
import { sourcesIn, sourceText } from "../repository/source_files.ts";

/** What tells the languages apart. */
export interface TextTables {
  /** Words of English texts that no Vietnamese text has, in lower case. */
  readonly englishWords: ReadonlySet<string>;
  /** Matches names that are of no language: of models, providers, and what people have named. */
  readonly names: RegExp;
}

type Language = "en" | "vi";

/** Vietnamese is written with accents; what both languages have in common is ASCII. */
const wordPattern = /[a-zà-ỹđ]+(?:['’][a-z]+)?/gu;

/** Code, and ids, whose letters may look like a word: `6fee` in a UUID. */
const noWords = /`[^`]*`|\b\w+_\w+\b|\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gu;

/** The words of a text, in lower case, without code. */
export function wordsOf(text: string): readonly string[] {
  return text.replaceAll(noWords, " ").toLowerCase().match(wordPattern) ?? [];
}

function isLanguage(name: string | undefined): name is Language {
  return name === "en" || name === "vi";
}

/** The name that a node declares. */
function nameOf(node: ts.Node): string | undefined {
  const isNamed = ts.isPropertyAssignment(node) || ts.isMethodDeclaration(node) ||
    ts.isVariableDeclaration(node);
  if (!isNamed) return undefined;
  const { name } = node;
  return ts.isIdentifier(name) || ts.isStringLiteral(name) ? name.text : undefined;
}

/** Whether a node is where pairs of texts stand: the `both` of a table, or a table of pairs. */
function hasPairs(node: ts.Node): boolean {
  if (ts.isCallExpression(node)) return node.expression.getText() === "definePairs";
  if (ts.isVariableDeclaration(node)) return node.type?.getText().startsWith("NamedPairs") === true;
  return nameOf(node) === "both";
}

/** Whether a node is a text in both languages: `[English, Vietnamese]`. */
function isPair(node: ts.Node): node is ts.ArrayLiteralExpression {
  if (!ts.isArrayLiteralExpression(node) || node.elements.length !== 2) return false;
  if (!node.elements.every(ts.isStringLiteralLike)) return false;
  for (let one: ts.Node = node; one.parent !== undefined; one = one.parent) {
    if (hasPairs(one)) return true;
  }
  return false;
}

/** Collects the texts below a node, which are of a language once a table of that language is entered. */
function collect(node: ts.Node, language: Language | undefined, into: Record<Language, string[]>) {
  if (language !== undefined) {
    const isText = ts.isStringLiteralLike(node) || ts.isTemplateHead(node) ||
      ts.isTemplateMiddle(node) || ts.isTemplateTail(node) || ts.isJsxText(node);
    if (isText) into[language].push(node.text);
  }
  if (
    ts.isConditionalExpression(node) && /\blocale === "(vi|en)"/u.test(node.condition.getText())
  ) {
    const isVietnamese = node.condition.getText().includes('"vi"');
    collect(node.whenTrue, isVietnamese ? "vi" : "en", into);
    collect(node.whenFalse, isVietnamese ? "en" : "vi", into);
    return;
  }
  if (isPair(node)) {
    collect(node.elements[0]!, "en", into);
    collect(node.elements[1]!, "vi", into);
    return;
  }
  // Names of members and what a text is compared with are no texts.
  if (ts.isBinaryExpression(node) && ts.isStringLiteralLike(node.right)) return;
  if (ts.isElementAccessExpression(node)) return;
  const name = nameOf(node);
  const within = isLanguage(name) ? name : language;
  ts.forEachChild(node, (child) => {
    if (!ts.isPropertyAssignment(node) || child !== node.name) collect(child, within, into);
  });
}

/** Matches any of some names as a whole, the longest first. */
function patternOf(names: Iterable<string>): RegExp {
  const escaped = [...new Set(names)].filter((name) => name !== "")
    .sort((one, other) => other.length - one.length).map((name) => RegExp.escape(name));
  return new RegExp(`(?<![\\p{L}\\d])(?:${escaped.join("|")})(?![\\p{L}\\d])`, "gu");
}

/** Reads the texts of pages and mails from their sources. */
export function readTextTables(names: Iterable<string>): TextTables {
  const texts: Record<Language, string[]> = { en: [], vi: [] };
  for (const folder of ["core", "routes"]) {
    for (const path of sourcesIn(folder)) {
      const source = sourceText(path);
      if (!/\bvi\b|\bdefinePairs\b|\bNamedPairs\b/u.test(source)) continue;
      const kind = path.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
      const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true, kind);
      collect(file, undefined, texts);
    }
  }
  const vietnamese = new Set(texts.vi.flatMap(wordsOf));
  const isEnglish = (word: string) => /^[a-z]{2,}/u.test(word) && !vietnamese.has(word);
  return {
    names: patternOf(names),
    englishWords: new Set(texts.en.flatMap(wordsOf).filter(isEnglish)),
  };
}
