import { joined } from "../../../../core/lib/bytes/byte_parts.ts";
import { assert, assertEquals, assertMatch, assertThrows } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { fieldsOfForm, fieldsOfJson, referenceField } from "../../../../core/calls/body/fields.ts";
import {
  multipartBoundary,
  partText,
  readForm,
  replaceField,
  writeForm,
} from "../../../../core/calls/body/multipart.ts";
import { referenceBytes, referenceText } from "../../../../core/calls/body/reference.ts";
import { sniffMediaType } from "../../../../core/net/remote/guarded_fetch.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

Deno.test("readForm() reads what FormData writes, text and files alike", async () => {
  const form = new FormData();
  form.append("prompt", "một con mèo\r\n--\r\n");
  form.append("empty", "");
  form.append('odd"name', "x");
  const file = crypto.getRandomValues(new Uint8Array(4_096));
  form.append("image[]", new File([file], 'a"b.png', { type: "image/png" }));
  form.append("image[]", new File([], "nothing"));
  const request = new Request("http://localhost/", { method: "POST", body: form });
  const boundary = multipartBoundary(request.headers.get("content-type") ?? "");
  const parts = readForm(await request.bytes(), boundary ?? "");
  assertEquals(
    parts.map(({ name, fileName, contentType }) => [name, fileName, contentType]),
    [
      ["prompt", undefined, undefined],
      ["empty", undefined, undefined],
      ['odd"name', undefined, undefined],
      ["image[]", 'a"b.png', "image/png"],
      ["image[]", "nothing", "application/octet-stream"],
    ],
  );
  assertEquals(partText(parts[0]!), "một con mèo\r\n--\r\n");
  assertEquals(parts[1]!.body.length, 0);
  assertEquals(parts[3]!.body.slice(), file);
  assertEquals(parts[4]!.body.length, 0);
});

Deno.test("FormData reads what writeForm() writes", async () => {
  const { body, contentType } = writeForm([
    { name: "a b", body: "x\r\ny" },
    { name: "f", body: new Uint8Array([0, 13, 10, 45, 45]), fileName: "f.bin", contentType: "a/b" },
  ], "limit");
  const form = await new Response(body, { headers: { "content-type": contentType } }).formData();
  assertEquals(form.get("a b"), "x\r\ny");
  const file = form.get("f");
  assert(file instanceof File);
  assertEquals([file.name, file.type, [...await file.bytes()]], ["f.bin", "a/b", [
    0,
    13,
    10,
    45,
    45,
  ]]);
});

Deno.test("any parts survive writing and reading, and replaceField() changes only its field", () => {
  const bytes = fc.uint8Array({ maxLength: 64 });
  const name = fc.stringMatching(/^[a-z][a-z[\]" ]{0,10}$/);
  fc.assert(fc.property(
    fc.array(fc.record({ name, body: bytes, isFile: fc.boolean() }), { maxLength: 8 }),
    fc.string({ maxLength: 20 }),
    (parts, model) => {
      const boundary = "a-boundary-that-no-part-has";
      const all = [
        { name: "model", body: encoder.encode("old"), isFile: false },
        ...parts.filter((part) => part.name !== "model"),
      ].map(({ isFile, ...part }) => isFile ? { ...part, fileName: "f" } : part);
      const { body } = writeForm(all, boundary);
      const read = (form: Uint8Array) =>
        readForm(form, boundary).map((part) => [part.name, part.fileName, [...part.body]]);
      assertEquals(
        read(body),
        all.map((part) => [
          part.name,
          "fileName" in part ? part.fileName : undefined,
          [...part.body],
        ]),
      );
      const changed = read(joined(replaceField(body, boundary, { name: "model", text: model })));
      assertEquals(changed, [
        ["model", undefined, [...encoder.encode(model)]],
        ...read(body).slice(1),
      ]);
    },
  ));
});

Deno.test("readForm() accepts a preamble, padding and an epilogue (RFC 2046)", () => {
  const text =
    "ignored\r\n--b \t\r\nContent-Disposition: form-data; name=x\r\n\r\n1\r\n--b--\r\nalso ignored";
  const parts = readForm(encoder.encode(text), "b");
  assertEquals(parts.map((part) => [part.name, partText(part)]), [["x", "1"]]);
});

Deno.test("readForm() refuses broken forms without reading on for ever", () => {
  const head = 'content-disposition: form-data; name="x"';
  const broken: [string, string][] = [
    ["", "its boundary does not occur in it"],
    ["--other\r\n", "its boundary does not occur in it"],
    ["--b", "it ends too early"],
    ["--b\r\n", "a part has no end of its headers"],
    [`--b\r\n${head}\r\n\r\nno end`, "it ends too early"],
    [`--b\r\n${head}\r\n\r\nx\r\n--bX\r\n`, "it ends too early"],
    ["--b\r\ncontent-type: a/b\r\n\r\nx\r\n--b--", "a part has no name"],
    ["--b\r\n\r\n\r\nx\r\n--b--", "a part has no name"],
    [`--b\r\nx: ${"y".repeat(5_000)}\r\n${head}\r\n\r\nx\r\n--b--`, "no end of its headers"],
    [`${`--b\r\n${head}\r\n\r\nx\r\n`.repeat(65)}--b--`, "more than 64 parts"],
  ];
  for (const [text, why] of broken) {
    assertThrows(() => readForm(encoder.encode(text), "b"), GatewayError, why);
  }
});

Deno.test("multipartBoundary() reads only forms, and only with a usable boundary", () => {
  assertEquals(multipartBoundary("Multipart/Form-Data; charset=utf-8; Boundary=abc"), "abc");
  assertEquals(multipartBoundary("multipart/mixed; boundary=abc"), undefined);
  for (const wrong of ["", "; boundary=", '; boundary=""', `; boundary=${"x".repeat(71)}`]) {
    assertThrows(() => multipartBoundary(`multipart/form-data${wrong}`), GatewayError);
  }
});

Deno.test("replaceField() refuses a field that is absent, doubled, or given the boundary", () => {
  const once = writeForm([{ name: "model", body: "a" }], "limit").body;
  const twice = writeForm([{ name: "m", body: "a" }, { name: "m", body: "b" }], "limit").body;
  const replace = (form: Uint8Array, name: string, text: string) => () =>
    replaceField(form, "limit", { name, text });
  assertThrows(replace(once, "x", "v"), GatewayError, "x must occur exactly once");
  assertThrows(replace(twice, "m", "v"), GatewayError, "m must occur exactly once");
  assertThrows(replace(once, "model", "a\r\n--limit--"), GatewayError, "ambiguous");
});

Deno.test("base64 in both alphabets, with and without padding, gives the same bytes and a clean data URL", () => {
  const bytes = new Uint8Array([0x89, ...encoder.encode("PNG\r\n\x1a\n"), 0xfb, 0xff, 0xfe, 1, 2]);
  const spellings = [
    bytes.toBase64(),
    bytes.toBase64({ omitPadding: true }),
    bytes.toBase64({ alphabet: "base64url" }),
    `data:image/png;base64,${bytes.toBase64()}`,
    `DATA:text/html;charset=x;BASE64,${bytes.toBase64()}`,
    `  ${bytes.toBase64()}\n`,
  ];
  for (const image of spellings) {
    const [reference] = referenceField(fieldsOfJson({ image }), "image");
    assert(reference?.kind === "base64");
    assertEquals(referenceBytes(reference).slice(), bytes, image);
    assertMatch(referenceText(reference), /^data:image\/png;base64,[A-Za-z0-9+/]+={0,2}$/);
  }
});

Deno.test("base64 that is wrong after its first bytes is found when it is decoded", () => {
  const image = `${encoder.encode("GIF89a......").toBase64()}!!!!`;
  const [reference] = referenceField(fieldsOfJson({ image }), "image");
  assert(reference?.kind === "base64");
  assertThrows(
    () => referenceBytes(reference),
    GatewayError,
    "image: is not valid base64",
  );
});

Deno.test("the file name from a client has no effect", () => {
  const { body } = writeForm([
    { name: "image", body: encoder.encode("GIF89a......"), fileName: "../../etc/passwd" },
  ], "limit");
  const [reference] = referenceField(fieldsOfForm(readForm(body, "limit")), "image");
  assert(reference?.kind === "file");
  assertEquals([reference.mediaType, decoder.decode(reference.bytes)], [
    "image/gif",
    "GIF89a......",
  ]);
});

Deno.test("sniffMediaType() knows its types by their first bytes only", () => {
  const cases: [string, string | undefined][] = [
    ["\x89PNG\r\n\x1a\n", "image/png"],
    ["\xff\xd8\xff\xe0", "image/jpeg"],
    ["GIF87a", "image/gif"],
    ["RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"],
    ["\x00\x00\x00\x20ftypisom", "video/mp4"],
    ["RIFF\x10\x00\x00\x00WAVEfmt ", undefined],
    ["\x89PNG", undefined],
    ["<svg xmlns=", undefined],
    ["", undefined],
  ];
  for (const [text, type] of cases) {
    assertEquals(sniffMediaType(Uint8Array.from(text, (c) => c.charCodeAt(0))), type, text);
  }
});
