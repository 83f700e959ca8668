import type { IncomingMessage } from "node:http";

export interface Target {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

const noQuery: Target["query"] = {};

/** Path as it was sent and query parameters, the last of equal names winning. */
export function targetOf(url: string): Target {
  const mark = url.indexOf("?");
  if (mark < 0) return { path: url, query: noQuery };
  return { path: url.slice(0, mark), query: Object.fromEntries(new URLSearchParams(url.slice(mark + 1))) };
}

const largestBody = 65_536;

/** The body as text; null when it is larger than any request of the interface or broke off. */
export async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > largestBody) return null;
      chunks.push(chunk);
    }
  } catch {
    return null;
  }
  return Buffer.concat(chunks).toString("utf8");
}
