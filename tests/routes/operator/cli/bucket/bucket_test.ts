/** Objects in a bucket: in one piece and in parts, with servers that fail. */
import { assert, assertEquals, assertRejects } from "../../../../support/assert.ts";
import { systemClock } from "../../../../../core/lib/time/clock.ts";
import { readBucketVariables } from "../../../../../core/config/bucket_variables.ts";
import { Bucket } from "../../../../../routes/operator/cli/bucket/bucket.ts";
import { readBucketAddress } from "../../../../../routes/operator/cli/bucket/bucket_address.ts";
import { bucketKeys, type BucketServer, failOnce, startBucketServer } from "./bucket_server.ts";

const partBytes = 1_000;

function bucketAt({ url }: BucketServer, place = "s3://tables/a/b"): Bucket {
  const variables = readBucketVariables({ ...bucketKeys, AWS_ENDPOINT_URL_S3: url });
  const read = readBucketAddress(place, variables);
  assert(read.ok, read.ok ? "" : read.problem);
  return new Bucket(read.address, { clock: systemClock, partBytes });
}

/** Bytes that show their place, in pieces that fit no part. */
async function* bytesOf(length: number, breaksAt = Infinity): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < length; at += 333) {
    if (at >= breaksAt) throw new Error("the rows broke off");
    yield Uint8Array.from({ length: Math.min(333, length - at) }, (_, i) => (at + i) % 251);
  }
}

async function wholeOf(length: number): Promise<number[]> {
  return (await Array.fromAsync(bytesOf(length))).flatMap((some) => [...some]);
}

Deno.test("an object of any length arrives as it is, in parts where it is long", async () => {
  await using server = startBucketServer();
  const bucket = bucketAt(server);
  for (const length of [0, 1, 999, 1_000, 1_001, 2_000, 4_321]) {
    assertEquals(await bucket.write(`of=${length}`, bytesOf(length)), length);
    const found = server.objects.get(`a/b/of=${length}`);
    assertEquals([...found ?? []], await wholeOf(length), `${length} bytes`);
  }
  assertEquals(server.asked.filter((line) => line.includes("of=4321")), [
    "POST a/b/of=4321?uploads",
    ...[1, 2, 3, 4, 5].map((part) => `PUT a/b/of=4321?${part}`),
    "POST a/b/of=4321?uploadId",
  ]);
  assertEquals(server.asked.filter((line) => line.includes("of=1000")), ["PUT a/b/of=1000"]);
  assertEquals([await bucket.has("of=1"), await bucket.has("of=2")], [true, false]);
});

Deno.test("a server that is busy, or loses an answer, is asked again", async () => {
  const busy = { status: 503, code: "SlowDown" } as const;
  const lost = { status: 500, code: "InternalError", isAfter: true } as const;
  const late = { status: 200, code: "InternalError" } as const;
  for (
    const [asked, fault] of [
      ["POST a/b/long?uploads", busy],
      ["PUT a/b/long?2", busy],
      ["POST a/b/long?uploadId", busy],
      ["POST a/b/long?uploadId", lost],
      ["POST a/b/long?uploadId", late],
    ] as const
  ) {
    await using server = startBucketServer();
    server.fail = failOnce(asked, fault);
    assertEquals(await bucketAt(server).write("long", bytesOf(2_500)), 2_500);
    assertEquals([...server.objects.get("a/b/long") ?? []], await wholeOf(2_500), asked);
    assertEquals(server.asked.filter((line) => line === asked).length, 2, asked);
    assertEquals(server.uploads.size, 0);
  }
});

Deno.test("what breaks off is taken back, and the object stays as it was", async () => {
  await using server = startBucketServer();
  const bucket = bucketAt(server);
  await bucket.write("table", bytesOf(10));
  const breakOff = () => bucket.write("table", bytesOf(5_000, 3_000));
  await assertRejects(breakOff, Error, "the rows broke off");
  await assertRejects(() => bucket.write("table", bytesOf(500, 300)), Error, "the rows broke off");
  server.fail = failOnce("PUT a/b/table?3", { status: 403, code: "AccessDenied" });
  await assertRejects(
    () => bucket.write("table", bytesOf(5_000)),
    Error,
    "PUT table: 403 AccessDenied: of the test",
  );
  assertEquals([server.uploads.size, server.objects.get("a/b/table")?.length], [0, 10]);
  assertEquals(server.asked.filter((line) => line.startsWith("DELETE")).length, 2);
});

Deno.test("wrong keys are an error that shows none of them", async () => {
  await using server = startBucketServer();
  const variables = readBucketVariables({
    ...bucketKeys,
    AWS_SECRET_ACCESS_KEY: "another-secret",
    AWS_ENDPOINT_URL: server.url,
  });
  const read = readBucketAddress("s3://tables", variables);
  assert(read.ok);
  const bucket = new Bucket(read.address, { clock: systemClock });
  const error = await bucket.write("table", bytesOf(1)).then(() => "", String);
  assert(error.includes("SignatureDoesNotMatch") && !error.includes("another-secret"), error);
});

Deno.test("an address or a variable that is wrong is refused, in a line without secrets", () => {
  const good = { ...bucketKeys, AWS_ENDPOINT_URL: "http://store.example:9000/" };
  const problemOf = (place: string, environment: Readonly<Record<string, string>> = good) => {
    const read = readBucketAddress(place, readBucketVariables(environment));
    return read.ok ? undefined : read.problem;
  };
  const places = ["s3://tables", "s3://tables/", "s3://my.tables-1/gateway/v=1/"];
  assertEquals(places.map((place) => problemOf(place)), [undefined, undefined, undefined]);
  const wrong = [
    "s3://",
    "s3://A",
    "s3://tables//a",
    "s3://tables/..",
    "s3://tables/a b",
    "s3:///a",
  ];
  assertEquals(wrong.filter((place) => problemOf(place) === undefined), []);
  const environments = [
    {},
    { ...good, AWS_REGION: "" },
    { ...good, AWS_SECRET_ACCESS_KEY: "a b" },
    { ...good, AWS_ENDPOINT_URL: "store.example" },
    { ...good, AWS_ENDPOINT_URL: "https://user:word@store.example" },
  ];
  for (const environment of environments) {
    const problem = problemOf("s3://tables", environment) ?? "none";
    assert(/^AWS_[A-Z0-9_]+ (and|must)/u.test(problem) && !/a b|word/u.test(problem), problem);
  }
});

Deno.test("without another server, an address is that of AWS in its region", () => {
  const read = readBucketAddress("s3://tables/a", readBucketVariables(bucketKeys));
  assert(read.ok);
  assertEquals([read.address.url, read.address.prefix], [
    "https://s3.ap-southeast-1.amazonaws.com/tables",
    "a/",
  ]);
});
