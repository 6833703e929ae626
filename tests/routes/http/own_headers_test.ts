/** The gateway's own headers: named in one file, described in the documents. */
import { assertEquals } from "../../support/assert.ts";
import { newId } from "../../../core/lib/ids/ids.ts";
import {
  answerHeaders,
  requestHeaders,
  withCommonHeaders,
} from "../../../routes/http/own_headers.ts";

const root = new URL("../../../", import.meta.url);
const common = [...withCommonHeaders(new Response(), newId("request", 0)).headers.keys()];
const names = [
  ...Object.values({ ...answerHeaders, ...requestHeaders }),
  ...common.filter((name) => name.startsWith("x-gateway-")),
];

function sourceFiles(folder: string): string[] {
  return Deno.readDirSync(new URL(folder, root)).toArray().flatMap(({ name, isDirectory }) => {
    if (isDirectory) return sourceFiles(`${folder}${name}/`);
    return /\.tsx?$/.test(name) ? [`${folder}${name}`] : [];
  });
}

/** Text between backquotes within a literal in double quotes: prose in Markdown that readers see. */
const quotedProse = /"(?:[^"\\`]|\\.|`[^`"]*`)*"/g;

/** A string literal that is or begins with one of the names; comments and prose may put names in backquotes. */
function writesOut(line: string): boolean {
  if (/^\s*(\/\/|\/?\*)/.test(line)) return false;
  const code = line.replace(quotedProse, (literal) => literal.replaceAll(/`[^`]*`/g, ""));
  return names.some((name) =>
    [`"${name}"`, `'${name}'`, `\`${name}\``].some((text) => code.includes(text))
  ) ||
    /["'`]x-gateway-/.test(code);
}

Deno.test("no source of routes writes out the name of an own header", () => {
  // A mail provider has a header of the same name.
  const exceptions = ["routes/http/own_headers.ts", "routes/mail/mailer.ts"];
  const found = sourceFiles("routes/").filter((file) => !exceptions.includes(file))
    .filter((file) => Deno.readTextFileSync(new URL(file, root)).split("\n").some(writesOut));
  assertEquals(found, []);
  assertEquals(writesOut('headers.set("x-request-id", id)'), true);
  assertEquals(writesOut("headers.set(`x-request-id`, id)"), true);
  assertEquals(writesOut('headers: ["x-gateway-estimate"],'), true);
  assertEquals(writesOut(" * The id is in `x-request-id`."), false);
  assertEquals(writesOut('  text: "Found by its `x-request-id`.",'), false);
});

Deno.test("what readers are told names headers that exist", () => {
  const files = [
    ...sourceFiles("routes/openapi/"),
    ...sourceFiles("routes/dashboard/public/docs/"),
  ];
  const told = files.flatMap((file) =>
    [
      ...Deno.readTextFileSync(new URL(file, root)).matchAll(
        /x-(?:gateway-|should-|request-)[a-z-]+/g,
      ),
    ]
      .map(([name]) => name)
  );
  assertEquals(told.length > 10, true);
  assertEquals(told.filter((name) => !names.includes(name)), []);
});

Deno.test("the documents describe every own header", () => {
  const text = Deno.readTextFileSync(new URL("docs/api.md", root)).toLowerCase();
  // The page names it as `…-per-request` beside the other price.
  const described = (name: string) =>
    text.includes(`\`${name}`) || name === answerHeaders.priceVndPerRequest;
  assertEquals(names.filter((name) => !described(name)), []);
});
