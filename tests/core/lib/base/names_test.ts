/** Names: what people see of one is what it is, whatever a program or a form sent. */
import { assert, assertEquals } from "../../../support/assert.ts";
import {
  maxNameChars,
  nameOf,
  optionalNameOf,
  parseName,
} from "../../../../core/lib/base/names.ts";

/** Every character that Unicode says is not seen, and the halves of others. */
const unseen = Array.from({ length: 0x110000 }, (_, code) => String.fromCodePoint(code))
  .filter((one) => /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/u.test(one))
  .filter((one) => !/\s/.test(one));

Deno.test("no name has a character that is not seen, wherever it stands", () => {
  assert(unseen.length > 4_000);
  for (const one of unseen) {
    for (const name of [`${one}prod`, `pr${one}od`, `prod${one}`, one]) {
      assertEquals(parseName(name), undefined, JSON.stringify(name));
    }
  }
});

Deno.test("a name is one line in its normal form, and stays what it is when read again", () => {
  const names = {
    "  Công ty   Một\tHai\r\n": "Công ty Một Hai",
    "Cho\u031b\u0323": "Chợ",
    "a\u2028b\u00a0c": "a b c",
    "👩‍💻 laptop": "👩‍💻 laptop",
    "❤️ prod": "❤️ prod",
    "🏴 שלום": "🏴 שלום",
  };
  for (const [typed, name] of Object.entries(names)) {
    assertEquals(parseName(typed), name);
    assertEquals(parseName(name), name);
  }
});

Deno.test("the length of a name counts characters, as its schema says", () => {
  for (const character of ["x", "ợ", "🎉"]) {
    const longest = character.repeat(maxNameChars);
    assertEquals(nameOf().parse(longest), longest);
    assert(!nameOf().safeParse(longest + character).success);
  }
  assert(!nameOf().safeParse(" ").success);
  assertEquals(optionalNameOf().parse(" "), "");
  assert(!optionalNameOf().safeParse("\u202e").success);
});
