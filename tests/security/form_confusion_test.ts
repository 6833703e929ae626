/** A form passes to the provider unchanged, so both sides must read the same names of its parts. */
import { assertEquals, assertThrows } from "../support/assert.ts";
import * as fc from "../support/property.ts";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { fieldsOfForm } from "../../core/calls/body/fields.ts";
import { readForm, writeForm } from "../../core/calls/body/multipart.ts";

const form = (head: string) =>
  new TextEncoder().encode(`--b\r\n${head}\r\n\r\ndear-model\r\n--b--\r\n`);

Deno.test("a part that could have two names is refused", () => {
  const heads = [
    'Content-Disposition: form-data; x="; name=zzz"; name="model"; name="y"',
    'Content-Disposition: form-data; name="model"; name="y"',
    "Content-Disposition: form-data; name=\"y\"; name*=UTF-8''model",
    'Content-Disposition: form-data; name="model"\r\nContent-Disposition: form-data; name="y"',
    'Content-Disposition: form-data; name="model"\r\nContent-Disposition : form-data; name="y"',
    'Content-Disposition: form-data; name=y"; name="model"',
    'Content-Disposition: attachment; name="model"',
    'Content-Disposition: form-data, name="model"',
  ];
  for (const head of heads) assertThrows(() => readForm(form(head), "b"), GatewayError);
});

Deno.test("text inside another parameter is not the name", () => {
  const parts = [
    'Content-Disposition: form-data; x="; name=zzz"; name="model"',
    'Content-Disposition: form-data; filename="; name=zzz"; name="model"',
    "content-disposition: FORM-DATA;name=model;",
    "Content-Disposition: form-data; Name=\"model\" ; filename*=UTF-8''a.png",
  ].map((head) => readForm(form(head), "b")[0]);
  assertEquals(parts.map((part) => part?.name), ["model", "model", "model", "model"]);
  assertEquals(parts.map((part) => part?.fileName), [undefined, "; name=zzz", undefined, ""]);
});

Deno.test("a part that some servers read as a field that decides the cost must have exactly its name", () => {
  const fieldsOf = (name: string) =>
    fieldsOfForm(readForm(writeForm([{ name, body: "5" }], "b").body, "b"));
  const confusing = [
    "N",
    "n[]",
    "n[0]",
    "N[]",
    " n",
    "n ",
    "n[url]",
    "Model",
    "model[]",
    "stream[]",
  ];
  for (const name of [...confusing, "Partial_Images", "prompt[]", "extra_body[n]", "Extra_Body"]) {
    assertThrows(() => fieldsOf(name), GatewayError, "is named");
  }
  const documented: [string, string][] = [
    ["n", "n"],
    ["image[]", "image"],
    ["reference_image[]", "reference_image"],
    ["image_url", "image_url"],
    ["input_reference[image_url]", "input_reference"],
    ["image[][url]", "image"],
    ["Quality", "Quality"],
    ["quality[]", "quality"],
  ];
  for (const [name, plain] of documented) assertEquals([...fieldsOf(name).keys()], [plain]);
});

Deno.test("property: no field whose name a server may fold to n is read as anything but n", () => {
  const around = fc.constantFrom("", " ", "\t");
  const brackets = fc.constantFrom("", "[]", "[0]", "[a][b]", "[");
  fc.assert(fc.property(
    fc.constantFrom("n", "N"),
    around,
    around,
    brackets,
    (letter, before, after, tail) => {
      const name = `${before}${letter}${after}${tail}`;
      const read = () => fieldsOfForm(readForm(writeForm([{ name, body: "5" }], "b").body, "b"));
      if (name === "n") assertEquals([...read().keys()], ["n"]);
      else assertThrows(read, GatewayError);
    },
  ));
});
