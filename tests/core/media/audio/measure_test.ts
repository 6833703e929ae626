import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { audioSeconds } from "../../../../core/media/audio/measure.ts";
import { canProbe } from "../../../support/media_probe.ts";

/** Encodes a tone with a real encoder. */
async function encode(seconds: number, ...args: readonly string[]): Promise<Uint8Array> {
  const path = await Deno.makeTempFile({ prefix: "gateway-audio-" });
  try {
    const { success, stderr } = await new Deno.Command("ffmpeg", {
      args: [
        ...["-v", "error", "-y", "-f", "lavfi", "-i", `sine=frequency=440:duration=${seconds}`],
        ...args,
        path,
      ],
    }).output();
    assert(success, new TextDecoder().decode(stderr));
    return await Deno.readFile(path);
  } finally {
    await Deno.remove(path);
  }
}

const containers: Readonly<Record<string, readonly string[]>> = {
  "WAV of 16 bits": ["-f", "wav"],
  "WAV of 24 bits, stereo": ["-c:a", "pcm_s24le", "-ac", "2", "-f", "wav"],
  "WAV, float": ["-c:a", "pcm_f32le", "-f", "wav"],
  "WAV, µ-law": ["-c:a", "pcm_mulaw", "-ar", "8000", "-f", "wav"],
  "RF64": ["-rf64", "always", "-f", "wav"],
  "MP3": ["-f", "mp3"],
  "MP3 of variable rate, with tags": ["-q:a", "4", "-metadata", "title=A title", "-f", "mp3"],
  "MP3 of MPEG 2": ["-ar", "22050", "-f", "mp3"],
  "MP3 of MPEG 2.5": ["-ar", "8000", "-f", "mp3"],
  "MP2": ["-c:a", "mp2", "-f", "mp2"],
  "FLAC": ["-f", "flac"],
  "FLAC of 96 kHz, stereo": ["-ar", "96000", "-ac", "2", "-f", "flac"],
  "Ogg with Opus": ["-c:a", "libopus", "-f", "ogg"],
  "Ogg with Opus, packets of 60 ms": ["-c:a", "libopus", "-frame_duration", "60", "-f", "ogg"],
  "Ogg with Opus, packets of 2.5 ms": [
    ...["-c:a", "libopus", "-application", "lowdelay", "-frame_duration", "2.5", "-f", "ogg"],
  ],
  "Ogg with FLAC": ["-c:a", "flac", "-f", "ogg"],
  "WebM": ["-c:a", "libopus", "-f", "webm"],
  "WebM, live": ["-c:a", "libopus", "-live", "1", "-f", "webm"],
  "M4A with AAC": ["-c:a", "aac", "-f", "ipod"],
  "MP4 with AAC of 16 kHz": ["-c:a", "aac", "-ar", "16000", "-f", "mp4"],
  "MP4 in fragments": ["-c:a", "aac", "-movflags", "frag_keyframe+empty_moov", "-f", "mp4"],
  "M4A with ALAC": ["-c:a", "alac", "-f", "ipod"],
  "MOV with AAC": ["-c:a", "aac", "-f", "mov"],
};

for (const [name, args] of Object.entries(containers)) {
  Deno.test(`${name} is measured within the padding of its encoder`, {
    ignore: !canProbe,
  }, async () => {
    for (const seconds of [0.7, 13]) {
      const measured = audioSeconds(await encode(seconds, ...args), "file");
      assert(Math.abs(measured - seconds) < 0.2, `${measured} for ${seconds}`);
    }
  });
}

/** Changes every place of a mark, or fails. */
function changed(bytes: Uint8Array, mark: string, change: (view: DataView, at: number) => void) {
  const copy = bytes.slice();
  const text = Array.from(copy, (byte) => String.fromCharCode(byte)).join("");
  let count = 0;
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1), count++) {
    change(new DataView(copy.buffer), at);
  }
  assert(count > 0, `there is no ${mark}`);
  return copy;
}

Deno.test("a length that a file declares counts for nothing", { ignore: !canProbe }, async () => {
  const lies: [args: readonly string[], mark: string, (view: DataView, at: number) => void][] = [
    // FLAC: the total of samples is the lower 36 bits of these 8 bytes.
    [["-f", "flac"], "fLaC", (view, at) => view.setUint32(at + 8 + 14, 1)],
    [["-c:a", "libopus", "-f", "ogg"], "OggS", (view, at) => view.setBigUint64(at + 6, 1n, true)],
    [["-c:a", "aac", "-f", "ipod"], "mdhd", (view, at) => view.setUint32(at + 4 + 16, 1)],
    [["-c:a", "aac", "-f", "ipod"], "mvhd", (view, at) => view.setUint32(at + 4 + 16, 1)],
    [["-c:a", "aac", "-f", "ipod"], "stts", (view, at) => view.setUint32(at + 4 + 12, 1)],
    [["-f", "mp3"], "Info", (view, at) => view.setUint32(at + 8, 1)],
    [["-f", "wav"], "data", (view, at) => view.setUint32(at + 4, 0xffffffff, true)],
    [["-f", "wav"], "fmt ", (view, at) => view.setUint32(at + 16, 1_000_000, true)], // bytes/s
  ];
  for (const [args, mark, lie] of lies) {
    const honest = await encode(13, ...args);
    const measured = audioSeconds(changed(honest, mark, lie), "file");
    assert(Math.abs(measured - 13) < 0.15, `${mark}: ${measured}`);
  }
});

function refusalOf(file: Uint8Array): GatewayError {
  try {
    audioSeconds(file, "file");
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("measured");
}

Deno.test("what cannot be measured is refused with what can", { ignore: !canProbe }, async () => {
  const files: Record<string, Uint8Array> = {
    empty: new Uint8Array(0),
    text: new TextEncoder().encode("This is no audio at all, only text in a file."),
    "only a tag": new TextEncoder().encode("ID3\x04\0\0\0\0\0\0"),
    vorbis: await encode(1, "-c:a", "libvorbis", "-f", "ogg"),
    "WebM with Vorbis": await encode(1, "-c:a", "libvorbis", "-f", "webm"),
    "WAV with ADPCM": await encode(1, "-c:a", "adpcm_ima_wav", "-f", "wav"),
    "MP4 with MP3": await encode(1, "-c:a", "libmp3lame", "-f", "mp4"),
    "WAV without samples": (await encode(1, "-f", "wav")).subarray(0, 36),
  };
  for (const [name, file] of Object.entries(files)) {
    const error = refusalOf(file);
    assertEquals([error.code, error.param], ["invalid_request", "file"], name);
    assert(error.message.includes("WebM (Opus)"));
  }
});

Deno.test("no bytes make the measuring fail otherwise, or give a length that is no length", () => {
  const starts = [
    "RIFF....WAVE",
    "fLaC",
    "OggS",
    "\x1a\x45\xdf\xa3",
    "....ftypM4A ",
    "ID3",
    "\xff\xfb",
  ];
  const start = fc.constantFrom("", ...starts)
    .map((text) => Uint8Array.from(text, (character) => character.charCodeAt(0)));
  const word = fc.constantFrom(
    ...[
      "fmt ",
      "data",
      "moov",
      "trak",
      "stsd",
      "mp4a",
      "esds",
      "stsz",
      "trun",
      "OpusHead",
      "\xff\xf8",
    ],
    ...["\x1f\x43\xb6\x75", "\xae", "\xa3\x84", "\0\0\0\x01", "\0\0\0\0", "\xff\xff\xff\xff"],
  ).map((text) => Uint8Array.from(text, (character) => character.charCodeAt(0)));
  const part = fc.oneof(word, fc.uint8Array({ maxLength: 24 }));
  fc.assert(
    fc.property(start, fc.array(part, { maxLength: 24 }), (start, parts) => {
      const bytes = new Uint8Array([...start, ...parts.flatMap((one) => [...one])]);
      try {
        const seconds = audioSeconds(bytes, "file");
        assert(seconds > 0 && Number.isFinite(seconds));
      } catch (error) {
        assert(error instanceof GatewayError, String(error));
      }
    }),
    { numRuns: 2_000 },
  );
});

Deno.test(
  "a file in the middle of a buffer is measured like any other",
  { ignore: !canProbe },
  async () => {
    for (const args of [["-f", "wav"], ["-f", "flac"], ["-c:a", "aac", "-f", "ipod"]]) {
      const file = await encode(2, ...args);
      const around = new Uint8Array(file.length + 77);
      around.set(file, 33);
      const inside = around.subarray(33, 33 + file.length);
      assertEquals(audioSeconds(inside, "file"), audioSeconds(file, "file"));
    }
  },
);
