/** What one run of `deno test` reported, read from its JUnit file. */

/** A test that ran or was skipped. */
export interface TestCase {
  readonly name: string;
  /** Path from the root of the repository. */
  readonly file: string;
  readonly seconds: number;
  readonly outcome: "passed" | "failed" | "skipped";
  /** What a failed test threw, with its stack. */
  readonly failure?: string;
}

const entities: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&apos;": "'",
  "&amp;": "&",
};

function unescaped(text: string): string {
  return text.replaceAll(/&(?:lt|gt|quot|apos|amp);/gu, (entity) => entities[entity] ?? entity)
    .replaceAll(/&#(\d+);/gu, (_, code) => String.fromCodePoint(Number(code)));
}

/**
 * Reads a report that `deno test --junit-path` wrote.
 *
 * @example
 * ```ts
 * import { readTestReport } from "./test_report.ts";
 * const xml = `<testcase name="a &gt; b" classname="./a_test.ts" time="0.5" line="1" col="1">\n</testcase>`;
 * const [test] = readTestReport(xml);
 * if (test?.name !== "a > b" || test.outcome !== "passed") throw new Error("misread");
 * ```
 */
export function readTestReport(xml: string): TestCase[] {
  const cases = xml.matchAll(
    /<testcase name="([^"]*)" classname="([^"]*)" time="([^"]*)"[^>]*?(?:\/>|>(.*?)<\/testcase>)/gsu,
  );
  return [...cases].map(([, name = "", file = "", seconds = "", body = ""]) => {
    const failure = /<(?:failure|error)\b[^>]*>(.*?)<\/(?:failure|error)>/su.exec(body)?.[1];
    return {
      name: unescaped(name),
      file: unescaped(file).replace(/^\.\//u, ""),
      seconds: Number(seconds),
      outcome: /<(?:failure|error)\b/u.test(body)
        ? "failed"
        : body.includes("<skipped")
        ? "skipped"
        : "passed",
      ...(failure === undefined ? {} : { failure: unescaped(failure) }),
    };
  });
}
