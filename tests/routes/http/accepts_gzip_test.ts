import { assertEquals } from "../../support/assert.ts";
import { acceptsGzip } from "../../../routes/http/accepts_gzip.ts";

Deno.test("gzip is sent to those who take it", () => {
  const cases: readonly (readonly [header: string | undefined, accepts: boolean])[] = [
    [undefined, false],
    ["", false],
    ["gzip", true],
    ["GZip", true],
    ["x-gzip", true],
    ["gzip, deflate, br, zstd", true],
    ["br;q=1.0, gzip;q=0.2", true],
    ["gzip ; q=0.001", true],
    ["*", true],
    ["br", false],
    ["identity", false],
    ["gzip;q=0", false],
    ["gzip; q=0.000", false],
    ["GZIP;Q=0", false],
    ["*;q=0", false],
    ["gzip;q=0, *", false],
    ["identity, *;q=0", false],
    ["not-gzip-at-all", false],
    ["gzip;q=x", false],
  ];
  for (const [header, accepts] of cases) assertEquals(acceptsGzip(header), accepts, header);
});
