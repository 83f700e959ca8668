import zlib from "node:zlib";

export class UndecodableBody extends Error {
  override name = "UndecodableBody" as const;
}

type Inflate = (body: Buffer, options: { maxOutputLength: number }) => Buffer;

const inflaters: ReadonlyMap<string, Inflate> = new Map<string, Inflate>([
  ["gzip", zlib.gunzipSync],
  ["x-gzip", zlib.gunzipSync],
  ["br", zlib.brotliDecompressSync],
  ["deflate", inflateEither],
]);

/** "deflate" means zlib framing, but raw streams are sent under that name too; the first nibble tells. */
function inflateEither(body: Buffer, options: { maxOutputLength: number }): Buffer {
  const isZlib = ((body[0] ?? 0) & 0x0f) === 8;
  return isZlib ? zlib.inflateSync(body, options) : zlib.inflateRawSync(body, options);
}

/**
 * The body without its content encoding. Throws UndecodableBody for an unknown or chained encoding, for broken data and
 * for more than `maxMiB`. Synchronous, which is harmless as the output is bounded.
 */
export function inflated(body: Buffer, encoding: string | undefined, maxMiB: number): Buffer {
  const name = (encoding ?? "").trim().toLowerCase();
  if (name === "" || name === "identity" || body.length === 0) return body;
  const inflate = inflaters.get(name);
  if (!inflate)
    throw new UndecodableBody(`content encoding ${JSON.stringify(name.slice(0, 40))} is not supported`);
  try {
    return inflate(body, { maxOutputLength: maxMiB * 1024 * 1024 });
  } catch (error) {
    const isTooLarge = error instanceof RangeError;
    throw new UndecodableBody(isTooLarge ? `more than ${maxMiB} MiB when unpacked` : `broken ${name} data`);
  }
}
