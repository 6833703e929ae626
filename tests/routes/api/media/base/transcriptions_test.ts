import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { chimeMp3Base64 } from "../../../../../sandbox/provider/media/assets/chime_mp3.ts";
import {
  errorOf,
  type MediaWorld,
  mockProvider,
  openMediaWorld,
} from "../../gateway/media_world.ts";

/** A WAV of 8 kHz, 8 bits, mono. */
function wav(seconds: number): Uint8Array<ArrayBuffer> {
  const data = Math.round(seconds * 8_000);
  const bytes = new Uint8Array(44 + data).fill(0x80, 44);
  const view = new DataView(bytes.buffer);
  bytes.set(new TextEncoder().encode("RIFF....WAVEfmt "));
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, 8_000, true);
  view.setUint16(34, 8, true);
  bytes.set(new TextEncoder().encode("data"), 36);
  view.setUint32(40, data, true);
  return bytes;
}

const perMinute = { unit: "second", vndPerMinute: 150 };

function models(price: Record<string, unknown>, ...providers: string[]) {
  return [{
    id: "hear-t",
    kind: "transcription",
    family: "test",
    price,
    routes: providers.map((provider, priority) => ({ provider, priority, model: "hear-up" })),
  }];
}

type Fields = Readonly<Record<string, string | Blob | undefined>>;

function formOf(fields: Fields): FormData {
  const form = new FormData();
  const all: Fields = { model: "hear-t", file: new File([wav(13.2)], "a.wav"), ...fields };
  for (const [name, value] of Object.entries(all)) {
    if (typeof value === "string") form.append(name, value);
    else if (value !== undefined) form.append(name, value);
  }
  return form;
}

function post(world: MediaWorld, fields: Fields = {}, task = "transcriptions"): Promise<Response> {
  return world.send(`/v1/audio/${task}`, { method: "POST", body: formOf(fields) });
}

const said = { text: "Xin chào" };

Deno.test("the form passes byte for byte but for the model, the answer unchanged, billed by the second", async () => {
  const answers: [body: string, type: string][] = [
    ['{ "text":"Xin chào", "usage":{"type":"duration","seconds":999} }', "application/json"],
    ["Xin chào\n", "text/plain; charset=utf-8"],
    ["1\n00:00:00,000 --> 00:00:13,200\nXin chào\n", "application/x-subrip"],
    ["WEBVTT\n\n00:00.000 --> 00:13.200\nXin chào\n", "text/vtt"],
  ];
  let answer = answers[0]!;
  await using provider = mockProvider(() =>
    new Response(answer[0], { headers: { "content-type": answer[1] } })
  );
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models(perMinute, "p1"),
  });
  const line = "--frontier\r\n";
  const head = (name: string) => `content-disposition: form-data; name="${name}"`;
  const before = `${line}${head("model")}\r\n\r\n`;
  const rest = `\r\n${line}X-Own: 1\r\n${head("response_format")}\r\n\r\nsrt\r\n${line}` +
    `${head("file")}; filename="Ghi âm.wav"\r\ncontent-type: audio/x-odd\r\n\r\n`;
  const audio = wav(13.2);
  const formWith = (model: string) =>
    new Uint8Array([
      ...new TextEncoder().encode(before + model + rest),
      ...audio,
      ...new TextEncoder().encode("\r\n--frontier--\r\n"),
    ]);
  for (const [index, one] of answers.entries()) {
    answer = one;
    for (const task of ["transcriptions", "translations"]) {
      const response = await world.send(`/v1/audio/${task}`, {
        method: "POST",
        headers: { "content-type": "multipart/form-data; boundary=frontier" },
        body: formWith("hear-t"),
      });
      assertEquals(await response.text(), one[0], `answer ${index}`);
      assertEquals(response.headers.get("content-type"), one[1]);
      // 13.2 seconds are 13, at 2.5 VND.
      assertEquals(response.headers.get("x-gateway-cost-vnd"), "32.5");
      assertEquals(response.headers.get("x-gateway-price-vnd-per-second"), "2.5");
      const seen = provider.seen.at(-1)!;
      assertEquals(seen.path, `/v1/audio/${task}`);
      assertEquals(seen.body, formWith("hear-up"));
      const receipt = await world.receiptOf(response);
      assertEquals(
        [receipt?.kind, receipt?.style, receipt?.units, receipt?.outcome],
        ["transcription", "transcriptions", 13, "completed"],
      );
    }
  }
  assertEquals(await world.balanceVnd(), 1_000_000 - 8 * 32.5);
});

Deno.test("seconds are those of the audio: to the nearest, at least one; a price per call is one", async () => {
  await using provider = mockProvider(() => Response.json(said));
  const cases: [seconds: number, price: Record<string, unknown>, vnd: string][] = [
    [0.1, perMinute, "2.5"],
    [13.4, perMinute, "32.5"],
    [13.6, perMinute, "35"],
    [100, { unit: "second", vndPerMinute: 100 }, "166.6667"],
    [100, { unit: "request", vnd: 40 }, "40"],
    [100, { unit: "second", vndPerMinute: 0 }, "0"],
  ];
  for (const [seconds, price, vnd] of cases) {
    await using world = await openMediaWorld({
      providers: { p1: provider.port },
      models: models(price, "p1"),
    });
    const file = new File([wav(seconds)], "a.mp3", { type: "audio/mpeg" });
    const response = await post(world, { file });
    assertEquals(response.headers.get("x-gateway-cost-vnd"), vnd, `${seconds}`);
    await response.body?.cancel();
  }
});

Deno.test("bad forms name their field, reach no provider and cost nothing", async () => {
  await using provider = mockProvider(() => Response.json(said));
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models(perMinute, "p1"),
  });
  const text = (words: string) => new File([words], "a.mp3");
  const cases: [fields: Fields, param: string][] = [
    [{ model: undefined }, "model"],
    [{ file: undefined }, "file"],
    [{ file: "not a file" }, "file"],
    [{ file: text("") }, "file"],
    [{ file: text("no audio") }, "file"],
    [{ file: text("ID3") }, "file"],
    [{ "file[]": new File([wav(1)], "b.wav") }, "file[]"],
    [{ audio_file: new File([wav(1)], "b.wav") }, "audio_file"],
    [{ file: undefined, url: "https://example.com/a.mp3" }, "url"],
    [{ URL: "https://example.com/a.mp3" }, "URL"],
    [{ file_id: "file-1" }, "file_id"],
    [{ stream: "perhaps" }, "stream"],
    [{ Model: "other" }, "model"],
    [{ model: "premium-1" }, "model"],
  ];
  for (const [fields, param] of cases) {
    const error = await errorOf(await post(world, fields));
    assertEquals([error.status, error.param], [400, param], JSON.stringify(fields));
  }
  const json = await errorOf(await world.post("/v1/audio/transcriptions", { model: "hear-t" }));
  assertEquals(json.status, 415);
  const speech = await errorOf(
    await world.post("/v1/audio/speech", { model: "hear-t", input: "x" }),
  );
  assertStringIncludes(speech.message, "/v1/audio/transcriptions");
  assertEquals([provider.seen.length, await world.balanceVnd()], [0, 1_000_000]);
});

Deno.test("a file of 25 MB is taken, a larger one is refused", async () => {
  await using provider = mockProvider(() => Response.json(said));
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models(perMinute, "p1"),
  });
  const megabytes = 1024 * 1024;
  const sized = (bytes: number) => new File([wav((bytes - 44) / 8_000)], "a.wav");
  const whole = await post(world, { file: sized(25 * megabytes) });
  assertEquals(whole.status, 200, await whole.text());
  assert(provider.seen[0]!.body.length > 25 * megabytes);
  const larger = await errorOf(await post(world, { file: sized(25 * megabytes + 1) }));
  assertEquals([larger.status, larger.param], [400, "file"]);
  const far = await errorOf(await post(world, { file: sized(27 * megabytes) }));
  assertEquals(far.status, 413);
  assertEquals(provider.seen.length, 1);
});

Deno.test("a wallet that cannot pay for the seconds is a 402 before anything is sent", async () => {
  await using provider = mockProvider(() => Response.json(said));
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models(perMinute, "p1"),
    vnd: 32,
  });
  assertEquals((await errorOf(await post(world))).status, 402);
  assertEquals([provider.seen.length, await world.balanceVnd()], [0, 32]);
});

Deno.test("another route is tried for what is no transcript, and a call that fails is free", async () => {
  const faults = [
    () => new Response("x", { status: 503 }),
    () => Response.json({ error: { message: "broken" } }),
    () => new Response("<html>", { headers: { "content-type": "text/html" } }),
  ];
  let fault = faults[0]!;
  await using first = mockProvider(() => fault());
  let isSecondUp = true;
  await using second = mockProvider(() =>
    isSecondUp ? Response.json(said) : new Response("x", { status: 503 })
  );
  for (const [index, one] of faults.entries()) {
    fault = one;
    isSecondUp = true;
    await using world = await openMediaWorld({
      providers: { p1: first.port, p2: second.port },
      models: models(perMinute, "p1", "p2"),
    });
    const response = await post(world);
    assertEquals(response.status, 200, `fault ${index}: ${await response.text()}`);
    assertEquals((await world.receiptOf(response))?.attempts.length, 2);
    isSecondUp = false;
    const failed = await post(world);
    assert(failed.status >= 500);
    await failed.body?.cancel();
    assertEquals(await world.balanceVnd(), 1_000_000 - 32.5);
  }
});

function eventStream(...chunks: readonly string[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  const left = [...chunks];
  return new ReadableStream({
    pull(controller) {
      const next = left.shift();
      if (next === "cut") return controller.error(new Error("cut"));
      if (next === undefined) return controller.close();
      controller.enqueue(new TextEncoder().encode(next));
    },
  });
}

const delta = 'data: {"type":"transcript.text.delta","delta":"Xin chào"}\n\n';
const done = 'data: {"type":"transcript.text.done","text":"Xin chào"}\n\n';

Deno.test("events pass unchanged, and are made of a whole answer; half a transcript is free", async () => {
  let body: () => BodyInit = () => "";
  let type = "text/event-stream";
  await using provider = mockProvider(() =>
    new Response(body(), { headers: { "content-type": type } })
  );
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models(perMinute, "p1"),
  });
  let paid = 0;
  const streamed = async () => {
    const response = await post(world, { stream: "true" });
    const text = await response.text();
    return { text, receipt: await world.receiptOf(response) };
  };
  body = () => eventStream(delta, delta, done);
  const native = await streamed();
  assertEquals(native.text, delta + delta + done);
  assertEquals([native.receipt?.stream, native.receipt?.units], [true, 13]);
  paid += 32.5;
  body = () => eventStream(delta, "cut");
  const cut = await streamed();
  assert(cut.text.startsWith(delta) && cut.text.includes('"error"'));
  assertEquals([cut.receipt?.outcome, cut.receipt?.units], ["broken", 0]);
  type = "application/json";
  body = () => '{"text":"Xin chào"}';
  const made = await streamed();
  assertEquals(made.text, delta + done);
  assertEquals(made.receipt?.outcome, "completed");
  paid += 32.5;
  assertEquals(await world.balanceVnd(), 1_000_000 - paid);
});

Deno.test("the sandbox hears how long a recording is, in every format", async () => {
  await using world = await openMediaWorld({ models: models(perMinute, "sandbox") });
  const file = new File([Uint8Array.fromBase64(chimeMp3Base64.join(""))], "chime.mp3");
  const formats: [format: string, part: string][] = [
    ["json", '{"text":"This is a recording of 1.'],
    ["verbose_json", '"segments"'],
    ["text", "This is a recording of 1."],
    ["srt", "1\n00:00:00,000 --> 00:00:01,"],
    ["vtt", "WEBVTT\n\n00:00:00.000 --> 00:00:01."],
  ];
  for (const [response_format, part] of formats) {
    const response = await post(world, { file, response_format });
    assertStringIncludes(await response.text(), part);
    assertEquals(response.status, 200);
  }
  const streamed = await (await post(world, { file, stream: "true" })).text();
  assertStringIncludes(streamed, '"type":"transcript.text.done"');
  const failed = await post(world, { file, prompt: "[[sandbox:error-503]]" });
  assertEquals(failed.status, 503);
  await failed.body?.cancel();
});
