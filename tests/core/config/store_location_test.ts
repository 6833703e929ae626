import { assertEquals } from "../../support/assert.ts";
import { readStoreLocation } from "../../../core/config/platform.ts";

Deno.test("readStoreLocation() takes a PostgreSQL address of one host or of several", () => {
  for (
    const url of [
      "postgres://gateway@localhost/gateway",
      "postgresql://gateway:p%40ss@db.example.com:6432/gateway?sslmode=require&max=16",
      "postgres://gateway:secret@one:5432,two:5433/gateway",
      "postgres://one,two,three/gateway",
    ]
  ) {
    assertEquals(readStoreLocation(url), { ok: true, store: { kind: "postgres", url } });
  }
});

Deno.test("readStoreLocation() refuses an incomplete PostgreSQL address without quoting it", () => {
  for (
    const url of [
      "postgres://",
      "postgres://gateway:secret@/gateway",
      "postgres://gateway:secret@one",
      "postgres://gateway:secret@one/",
      "postgres://gateway:secret@one:port/gateway",
      "postgres://gateway:secret@one,,two/gateway",
      "postgres://gateway:secret@one\n/gateway",
    ]
  ) {
    const read = readStoreLocation(url);
    assertEquals(read.ok, false, url);
    assertEquals(JSON.stringify(read).includes("secret"), false);
  }
});
