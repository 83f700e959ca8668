import { promisify } from "node:util";
import { deflateRaw, inflateRaw } from "node:zlib";

/*
 * A controller's points as bytes: differences between neighbours in as few bytes as they need, compressed. Sensors that
 * hardly change take well below a byte a point.
 */

/** Null where no good value was known. */
export type Points = readonly (number | null)[];

/** Points by sensor. */
export type Block = ReadonlyMap<string, Points>;

interface Head {
  /** For each sensor its id, decimals, and the bytes that its points take. */
  readonly sensors: readonly (readonly [id: string, decimals: number, bytes: number])[];
}

const mostDecimals = 4;
/** Larger numbers would lose their last digit. */
const mostWhole = 2 ** 50;

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/**
 * The fewest decimals that keep every point as it is, up to `mostDecimals`, which is all that a greenhouse sensor can
 * mean.
 */
function decimalsOf(known: readonly number[]): number {
  const most = Math.max(...known.map(Math.abs), 0);
  for (let decimals = 0; decimals < mostDecimals; decimals += 1) {
    const factor = 10 ** decimals;
    if (most * factor * 10 > mostWhole) return decimals;
    if (
      known.every((value) => Math.abs(Math.round(value * factor) / factor - value) <= 1e-9 * Math.abs(value))
    )
      return decimals;
  }
  return mostDecimals;
}

function pushVarint(bytes: number[], value: number): void {
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  bytes.push(rest);
}

/** Writes 0 for a gap, else 1 plus the difference from the last known point, with its sign in the lowest bit. */
function pointBytes(points: Points, decimals: number): number[] {
  const bytes: number[] = [];
  let last = 0;
  for (const point of points) {
    if (point === null) {
      bytes.push(0);
      continue;
    }
    const whole = Math.round(point * 10 ** decimals);
    const change = whole - last;
    pushVarint(bytes, 1 + (change < 0 ? -2 * change - 1 : 2 * change));
    last = whole;
  }
  return bytes;
}

function* varints(bytes: Uint8Array): Generator<number> {
  let value = 0;
  let factor = 1;
  for (const byte of bytes) {
    value += (byte % 128) * factor;
    factor *= 128;
    if (byte >= 128) continue;
    yield value;
    value = 0;
    factor = 1;
  }
}

function pointsOf(bytes: Uint8Array, decimals: number): Points {
  const points: (number | null)[] = [];
  let last = 0;
  for (const code of varints(bytes)) {
    if (code === 0) {
      points.push(null);
      continue;
    }
    const change = code - 1;
    last += change % 2 === 1 ? -(change + 1) / 2 : change / 2;
    points.push(Number((last / 10 ** decimals).toPrecision(9)));
  }
  return points;
}

export async function pack(block: Block): Promise<Buffer> {
  const parts = [...block].map(([id, points]) => {
    const decimals = decimalsOf(points.filter((point) => point !== null));
    return { id, decimals, bytes: pointBytes(points, decimals) };
  });
  const head: Head = { sensors: parts.map(({ id, decimals, bytes }) => [id, decimals, bytes.length]) };
  const text = Buffer.from(`${JSON.stringify(head)}\n`);
  return deflate(Buffer.concat([text, ...parts.map(({ bytes }) => Buffer.from(bytes))]));
}

/** Rejects bytes that `pack` did not make. */
export async function unpack(bytes: Uint8Array): Promise<Block> {
  const raw = await inflate(bytes);
  const end = raw.indexOf("\n");
  const { sensors } = JSON.parse(raw.subarray(0, end).toString()) as Head;
  const block = new Map<string, Points>();
  let from = end + 1;
  for (const [id, decimals, length] of sensors) {
    block.set(id, pointsOf(raw.subarray(from, from + length), decimals));
    from += length;
  }
  return block;
}
