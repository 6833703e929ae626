/** Decodes a file with a real decoder (`ffprobe`). If it is not installed, its tests are reported as skipped. */
import { assertEquals } from "./assert.ts";

async function isInstalled(): Promise<boolean> {
  try {
    return (await new Deno.Command("ffprobe", { args: ["-version"] }).output()).success;
  } catch {
    return false;
  }
}

/** Whether there is a decoder on this machine. */
export const canProbe: boolean = await isInstalled();

export interface Probed {
  /** Codec of each stream. */
  readonly codecs: readonly string[];
  readonly seconds: number;
}

/** Decodes the head of a file; fails the test if the decoder complains about anything. */
export async function probe(bytes: Uint8Array): Promise<Probed> {
  const path = await Deno.makeTempFile({ prefix: "gateway-probe-" });
  try {
    await Deno.writeFile(path, bytes);
    const { code, stdout, stderr } = await new Deno.Command("ffprobe", {
      args: ["-v", "error", "-show_format", "-show_streams", "-of", "json", path],
    }).output();
    const decoder = new TextDecoder();
    assertEquals([code, decoder.decode(stderr)], [0, ""]);
    const { format, streams } = JSON.parse(decoder.decode(stdout));
    return {
      codecs: streams.map((stream: { codec_name: string }) => stream.codec_name),
      seconds: Number(format.duration),
    };
  } finally {
    await Deno.remove(path);
  }
}
