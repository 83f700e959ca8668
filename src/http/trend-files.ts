import { nullIfFailed } from "../runtime/failures.js";
import { join } from "node:path";
import { errorCode, type FileSystem, replaceFile } from "../runtime/file-system.js";
import { type Block, pack, unpack } from "./trend-block.js";

/*
 * Points on disk. A file holds an hour of points a minute apart, or a day of points five minutes apart. It is replaced
 * as a whole, so that a power cut leaves the old one or the new one. Each controller is a block of its own, which can
 * be read without the others.
 */

type SpanKind = "hour" | "day";

/** Minutes that a file covers, and minutes between its points. */
export const spans = {
  hour: { minutes: 60, step: 1 },
  day: { minutes: 24 * 60, step: 5 },
} as const;

/** `start`: minutes since 1970. */
export interface Span {
  readonly kind: SpanKind;
  readonly start: number;
}

/** Blocks by controller. */
export type Blocks = ReadonlyMap<string, Block>;

type Places = Readonly<Record<string, readonly [from: number, length: number]>>;

const version = 1;
const headBytes = 64 * 1024;
const namePattern = /^(hour|day)-(\d+)\.trend$/;

export class TrendFiles {
  readonly #directory: string;
  readonly #files: FileSystem;
  readonly #inPlace: () => Promise<void>;

  /** `inPlace` rejects if another folder has taken the place of the one above. */
  constructor(directory: string, files: FileSystem, inPlace: () => Promise<void> = () => Promise.resolve()) {
    this.#directory = directory;
    this.#files = files;
    this.#inPlace = inPlace;
  }

  #path({ kind, start }: Span): string {
    return join(this.#directory, `${kind}-${start}.trend`);
  }

  /** The files on disk; none while the directory does not exist. */
  async list(): Promise<readonly (Span & { readonly bytes: number })[]> {
    const names = await this.#files.list(this.#directory).catch((error: unknown) => {
      if (errorCode(error) === "ENOENT") return [];
      throw error;
    });
    const found = names.flatMap((name) => {
      const [, kind, start] = namePattern.exec(name) ?? [];
      return kind === "hour" || kind === "day" ? [{ kind, start: Number(start) } as const] : [];
    });
    return Promise.all(
      found.map(async (span) => {
        const facts = await this.#files.facts(this.#path(span)).catch(nullIfFailed);
        return { ...span, bytes: facts?.bytes ?? 0 };
      }),
    );
  }

  async write(span: Span, blocks: Blocks): Promise<void> {
    const places: Record<string, readonly [number, number]> = {};
    const parts: Buffer[] = [];
    let from = 0;
    for (const [controller, block] of blocks) {
      const part = await pack(block);
      places[controller] = [from, part.length];
      from += part.length;
      parts.push(part);
    }
    const head = Buffer.from(`${JSON.stringify({ version, places })}\n`);
    await this.#inPlace();
    await this.#files.makeDirectory(this.#directory, 0o700);
    await replaceFile(this.#path(span), Buffer.concat([head, ...parts]), { files: this.#files });
  }

  /** The blocks of these controllers, or of all in the file; none where there is no file. */
  async read(span: Span, controllers?: Iterable<string>): Promise<Blocks> {
    const blocks = new Map<string, Block>();
    const file = await this.#files.open(this.#path(span), "r").catch((error: unknown) => {
      if (errorCode(error) === "ENOENT") return null;
      throw error;
    });
    if (file === null) return blocks;
    const bytesAt = async (from: number, length: number) => {
      const into = Buffer.alloc(length);
      let done = 0;
      for (let got = 1; got > 0 && done < length; done += got)
        got = await file.read(into.subarray(done), from + done);
      return into.subarray(0, done);
    };
    try {
      let head = await bytesAt(0, headBytes);
      while (!head.includes("\n") && head.length % headBytes === 0 && head.length > 0)
        head = await bytesAt(0, 2 * head.length);
      const end = head.indexOf("\n") + 1;
      const places = new Map(Object.entries(placesIn(head.subarray(0, end).toString())));
      for (const controller of controllers ?? places.keys()) {
        const [from, length] = places.get(controller) ?? [0, 0];
        if (length > 0) blocks.set(controller, await unpack(await bytesAt(end + from, length)));
      }
      return blocks;
    } finally {
      await file.close();
    }
  }

  remove(span: Span): Promise<void> {
    return this.#files.remove(this.#path(span));
  }
}

function placesIn(head: string): Places {
  const found = JSON.parse(head) as { readonly version: number; readonly places: Places };
  if (found.version !== version) throw new Error(`it was written by another version (${found.version})`);
  return found.places;
}
