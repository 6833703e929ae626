import { assert, assertEquals } from "../../../support/assert.ts";
import { providerRequest } from "../../../../core/calls/exchange/provider_request.ts";
import { authKinds, credentialHeader } from "../../../../core/catalog/entries/cloud_schema.ts";
import { readConfig } from "../../../../core/config/config.ts";

const fileText = await Deno.readTextFile(new URL("../../../../gateway.json", import.meta.url));

/** Reads the shipped file with one more provider. */
function readWith(provider: Record<string, unknown>, secret = "k-1") {
  const file = JSON.parse(fileText);
  file.providers.vendor = {
    kind: "http",
    baseUrl: "https://api.example",
    apiKeyEnv: "VENDOR_KEY",
    ...provider,
  };
  return readConfig({ VENDOR_KEY: secret }, JSON.stringify(file));
}

function assertRefused(name: string, provider: Record<string, unknown>, secret?: string): void {
  const read = readWith(provider, secret);
  assert(!read.ok, `accepted: ${JSON.stringify([provider, secret])}`);
  assertEquals(read.problems.length, 1, read.problems.join("\n"));
  assert(read.problems[0]!.includes(name), read.problems[0]);
  assert(!read.problems[0]!.includes("S3cret"), read.problems[0]);
}

Deno.test("a provider's key that no header can carry prevents the start, and is not printed", () => {
  for (const secret of ["", "\n", "S3cret\n\n", "S3cret\nx", " S3cret", "S3crét", "S3cret\t"]) {
    assertRefused("VENDOR_KEY", {}, secret);
  }
  for (const secret of ["k-1", "k-1\n", "k-1\r\n"]) {
    const read = readWith({}, secret);
    assert(read.ok, JSON.stringify(secret));
    assertEquals(read.config.providerKeys["vendor"], ["k-1"]);
  }
});

Deno.test("fixed headers of a provider are those that every request can carry", () => {
  for (
    const [name, value] of [
      ["x-team", "a\r\nb: c"],
      ["x-team", "a\n"],
      ["x-team", "é"],
      ["x-team", "a\tb"],
      ["content-length", "5"],
      ["transfer-encoding", "chunked"],
      ["host", "other.example"],
      ["content-type", "text/plain"],
      ["accept-encoding", "gzip"],
      ["authorization", "Bearer x"],
    ] as const
  ) assertRefused("providers.vendor.headers", { headers: { [name]: value } });
  const headers = { "x-team": "red, blue", "x-api-key": "public" };
  const read = readWith({ headers });
  assert(read.ok);
  const provider = read.config.catalog.providers["vendor"];
  assert(provider?.kind === "http");
  assertEquals(provider.headers, headers);
  assertRefused("providers.vendor.headers", { auth: "x-api-key", headers });
});

Deno.test("other paths are of known endpoints", () => {
  for (const paths of [{ chats: "/x" }, { chat: "x" }, { chat: "/a b" }, { chat: "/a#b" }]) {
    assertRefused("providers.vendor.paths", { paths });
  }
  assert(readWith({ paths: { chat: "/openai/chat?api-version=1", videos: "/v2/videos" } }).ok);
});

Deno.test("every auth kind can be configured, carries the key, and owns its header", () => {
  for (const { name, header } of authKinds) {
    const read = readWith({ auth: name });
    assert(read.ok, name);
    const provider = read.config.catalog.providers["vendor"];
    assert(provider?.kind === "http");
    const { headers } = providerRequest({
      provider,
      style: "chat",
      secret: "k-1",
      body: null,
      stream: false,
      clientHeader: () => undefined,
    });
    const sent = headers.filter(([, value]) => value.includes("k-1"));
    assertEquals(sent, [credentialHeader(name, "k-1")]);
    assertEquals(sent[0]?.[0], header);
    assertRefused("providers.vendor.headers", { auth: name, headers: { [header]: "x" } });
  }
});

Deno.test("a model's shown name has no control characters and no marks of text direction", () => {
  const named = (displayName: string) => {
    const file = JSON.parse(fileText);
    file.models[0].displayName = displayName;
    return readConfig({}, JSON.stringify(file));
  };
  for (
    const bad of ["a\r\nb", "a\u0000", "a\u202eb", "\u2066a", "a\u200fb", "a\u2028b", "a\u0085"]
  ) {
    const read = named(bad);
    assert(!read.ok && read.problems[0]!.includes("displayName"), JSON.stringify(bad));
  }
  for (const good of ["Mô hình nhanh", "模型 1", "a\u200db", "\u05d0\u05d1"]) {
    assert(named(good).ok, good);
  }
});
