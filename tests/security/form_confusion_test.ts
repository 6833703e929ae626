/** A form passes to the provider as it came: its parts must have the names there that they have here. */
import { assertEquals, assertThrows } from "@std/assert";
import { GatewayError } from "../../core/errors.ts";
import { readForm } from "../../core/media/multipart.ts";

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

Deno.test("what stands inside another parameter is not the name", () => {
  const parts = [
    'Content-Disposition: form-data; x="; name=zzz"; name="model"',
    'Content-Disposition: form-data; filename="; name=zzz"; name="model"',
    "content-disposition: FORM-DATA;name=model;",
    "Content-Disposition: form-data; Name=\"model\" ; filename*=UTF-8''a.png",
  ].map((head) => readForm(form(head), "b")[0]);
  assertEquals(parts.map((part) => part?.name), ["model", "model", "model", "model"]);
  assertEquals(parts.map((part) => part?.fileName), [undefined, "; name=zzz", undefined, ""]);
});
