import { assert, assertEquals } from "../../support/assert.ts";
import { buildCatalog } from "../../../core/catalog/catalog.ts";
import { gatewayFileSchema } from "../../../core/catalog/schema.ts";
import { readConfig } from "../../../core/config/config.ts";
import { listFigure, microVndOf } from "../../../core/billing/money/micro_vnd.ts";
import { resolveVideoRules, videoRulesSchema } from "../../../core/catalog/entries/video_rules.ts";

const fileText = await Deno.readTextFile(new URL("../../../gateway.json", import.meta.url));

function defaultCatalog() {
  const built = buildCatalog(gatewayFileSchema.parse(JSON.parse(fileText)));
  assert(built.ok);
  return built.catalog;
}

Deno.test("the default catalogue carries the spec's price table", () => {
  const catalog = defaultCatalog();
  const family = (name: string) => catalog.models.filter((model) => model.family === name);
  assertEquals(family("general").length, 16);
  assertEquals(family("cloud").length, 24);
  assert(family("cloud").every((model) => model.id.startsWith("gateway/")));
  assertEquals(family("low-cost").length, 6);

  const figures = (name: string) =>
    new Set(
      family(name).map(({ price }) =>
        price.unit === "token"
          ? listFigure(microVndOf(price.vndPerMtok), catalog.listRate)
          : "other"
      ),
    );
  assertEquals([...figures("premium")], ["0.3773"]);
  assertEquals([...figures("mid-top")], ["0.2955"]);
  assertEquals([...figures("general")], ["0.1091"]);

  const flat = family("low-cost").flatMap(({ price }) =>
    price.unit === "request" ? [listFigure(microVndOf(price.vnd), catalog.listRate)] : []
  );
  assertEquals(flat, ["0.0105", "0.0118"]);
  assert(
    family("low-cost").some(({ price }) => price.unit === "token" && price.vndPerMtok === 1500),
  );

  const unit = (id: string) => {
    const price = catalog.find(id)?.price;
    return price !== undefined && "vnd" in price
      ? listFigure(microVndOf(price.vnd), catalog.listRate)
      : undefined;
  };
  assertEquals(unit("image-1"), "0.0455");
  assertEquals(unit("speech-1"), "0.0614");
});

Deno.test("the default catalogue prices videos by length as the spec lists them", () => {
  const catalog = defaultCatalog();
  const listed: [string, number, string][] = [
    ["video-a", 5, "0.1500"],
    ["video-a", 10, "0.1500"],
    ["video-b", 4, "0.1136"],
    ["video-c", 5, "0.1000"],
    ["video-c", 10, "0.1682"],
    ["video-c", 15, "0.2591"],
    ["video-d", 5, "0.1273"],
    ["video-d", 10, "0.1955"],
    ["video-d", 15, "0.2864"],
    ["video-d", 20, "0.4227"],
    ["video-d", 30, "0.4227"],
  ];
  for (const [id, seconds, figure] of listed) {
    const price = catalog.find(id)?.price;
    assert(price?.unit === "video", id);
    const tier = price.tiers.find((t) => t.fromSeconds <= seconds && seconds <= t.toSeconds);
    assert(tier !== undefined, `${id} ${seconds} s`);
    assertEquals(listFigure(microVndOf(tier.vnd), catalog.listRate), figure, `${id} ${seconds} s`);
  }
});

Deno.test("no video is listed with a length that its model does not make", () => {
  for (const { id, kind, price, videoRules } of defaultCatalog().models) {
    if (kind !== "video") continue;
    assert(price.unit === "video", id);
    const { seconds } = resolveVideoRules(videoRulesSchema.parse(videoRules));
    const ends = (list: readonly number[]) => [Math.min(...list), Math.max(...list)];
    assertEquals(
      ends(price.tiers.flatMap((tier) => [tier.fromSeconds, tier.toSeconds])),
      ends(seconds.flatMap(({ from, to }) => [from, to])),
      id,
    );
  }
});

Deno.test("an unknown name selects the default premium model on chat endpoints and nothing elsewhere", () => {
  const catalog = defaultCatalog();
  const chat = catalog.resolve("no-such-model", "chat");
  assert(chat.found);
  assertEquals(chat.model.id, "premium-1");
  assertEquals(chat.mappedFrom, "no-such-model");
  assertEquals(catalog.resolve("no-such-model", "image").found, false);
  const alias = catalog.resolve("premium", "chat");
  assert(alias.found);
  assertEquals([alias.model.id, alias.mappedFrom], ["premium-1", "premium"]);
});

Deno.test("a wish for the route behind a name leaves the model that is named, and a stored prompt is none", () => {
  const catalog = defaultCatalog();
  for (const { id, kind, aliases } of catalog.models) {
    for (const name of [id, ...aliases]) {
      const variant = catalog.resolve(`${name}:floor`, kind);
      assert(variant.found);
      assertEquals([variant.model.id, variant.mappedFrom], [id, `${name}:floor`]);
    }
    assertEquals(catalog.resolve(`@preset/${id}`, kind).found, false);
  }
  const unknown = catalog.resolve("no-such-model:nitro", "chat");
  assert(unknown.found);
  assertEquals([unknown.model.id, unknown.mappedFrom], ["premium-1", "no-such-model:nitro"]);
  assertEquals(catalog.resolve("no-such-model:nitro", "image").found, false);
});

Deno.test("readConfig() names every problem at once", () => {
  const file = JSON.parse(fileText);
  delete file.models[0].price;
  file.models[1].routes[0].provider = "nowhere";
  const result = readConfig({ PORT: "99999", MAIL_URL: "ftp://x" }, JSON.stringify(file));
  assert(!result.ok);
  const text = result.problems.join("\n");
  for (const part of ["PORT", "MAIL_URL", "models.0.price"]) assert(text.includes(part), text);
});

Deno.test("a missing variable is reported even if its provider has a wrong shape", () => {
  const file = JSON.parse(fileText);
  file.providers.one = { kind: "http", baseUrl: "ftp://x", apiKeyEnv: "ONE_KEY" };
  file.providers.two = { apiKeyEnv: ["TWO_KEY", "two"] };
  file.providers.three = { kind: "sandbox", apiKeyEnv: "NOT_NEEDED" };
  file.providers.four = "THIS";
  const result = readConfig({}, JSON.stringify(file));
  assert(!result.ok);
  const text = result.problems.join("\n");
  for (const name of ["one.baseUrl", "ONE_KEY: not set", "providers.two", "TWO_KEY: not set"]) {
    assert(text.includes(name), text);
  }
  for (const name of ["NOT_NEEDED", "environment two", "THIS"]) assert(!text.includes(name), text);
  const set = readConfig({ ONE_KEY: "k", TWO_KEY: "k" }, JSON.stringify(file));
  assert(!set.ok && !set.problems.some((problem) => problem.startsWith("environment")));
});

Deno.test("readConfig() refuses routes to unknown providers, taken names, wrong units and a bad default", () => {
  const file = JSON.parse(fileText);
  file.models[1].routes[0].provider = "nowhere";
  file.models[2].aliases = ["premium-1"];
  file.models[3].price = { unit: "image", vnd: 1 };
  file.defaultModel = "image-1";
  const result = readConfig({}, JSON.stringify(file));
  assert(!result.ok);
  const text = result.problems.join("\n");
  for (const part of ["nowhere", '"premium-1" is taken', "priced per image", "defaultModel"]) {
    assert(text.includes(part), `${part}: ${text}`);
  }
});

Deno.test("the capabilities of media routes that docs/media.md names are known, with the values it names", () => {
  const read = (facts: Record<string, unknown>) => {
    const file = JSON.parse(fileText);
    const image = file.models.find(({ kind }: { kind: string }) => kind === "image");
    image.routes[0].facts = facts;
    return readConfig({}, JSON.stringify(file));
  };
  for (const image_edits of ["json", "form"]) assert(read({ image_edits }).ok, image_edits);
  const wrong = read({ image_edits: "xml" });
  assert(!wrong.ok && wrong.problems.join().includes("image_edits"));
});

Deno.test("a provider without its secret is a configuration error, with it the mode is production", () => {
  const file = JSON.parse(fileText);
  file.providers.vendor = { kind: "http", baseUrl: "https://api.example", apiKeyEnv: "VENDOR_KEY" };
  const missing = readConfig({}, JSON.stringify(file));
  assert(!missing.ok && missing.problems.join().includes("VENDOR_KEY"));
  const set = readConfig({ VENDOR_KEY: "k" }, JSON.stringify(file));
  assert(set.ok);
  assertEquals(set.config.mode, "production");
  const plain = readConfig({}, fileText);
  assert(plain.ok);
  assertEquals(plain.config.mode, "sandbox");
});
