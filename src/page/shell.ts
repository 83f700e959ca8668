/*
 * The service worker: it keeps the page's own files, so that an installed page opens without reaching the bridge. No
 * data pass through here or are kept.
 */

interface Lasting extends Event {
  waitUntil(work: Promise<unknown>): void;
}

interface Fetching extends Lasting {
  readonly request: Request;
  respondWith(answer: Promise<Response>): void;
}

interface Worker {
  readonly location: Location;
  skipWaiting(): Promise<void>;
  readonly clients: { claim(): Promise<void> };
  addEventListener(type: "install" | "activate", listener: (event: Lasting) => void): void;
  addEventListener(type: "fetch", listener: (event: Fetching) => void): void;
}

const worker = self as unknown as Worker;
const place = new URL("./", worker.location.href);
const shelf = `greenhouse2mqtt ${place.pathname}`;
/** Whether a proxy says that nobody answers behind it. */
const isAway = ({ status }: Response): boolean => status >= 502 && status <= 504;
const anyEncoding = { ignoreVary: true } as const;

/** Keeps the document. Its file names depend on their content, so a new document begins a new cache. */
async function keepDocument(answer: Response): Promise<void> {
  const text = await answer.text();
  if (!text.includes('id="page"')) return;
  const known = await caches.open(shelf);
  const kept = await known.match(place, anyEncoding);
  if (kept !== undefined && (await kept.text()) === text) return;
  await caches.delete(shelf);
  const fresh = await caches.open(shelf);
  await fresh.put(
    place,
    new Response(text, { headers: { "content-type": "text/html; charset=utf-8", ...policyOf(answer) } }),
  );
  const own = [...text.matchAll(/(?:src|href)="(\.\/[^"]+)"/g)].map(([, path = ""]) => new URL(path, place));
  await Promise.all(own.map((one) => fresh.add(new Request(one, { credentials: "same-origin" }))));
}

/** The kept document gets the same security policy as the bridge's. */
function policyOf({ headers }: Response): Record<string, string> {
  const policy = headers.get("content-security-policy");
  return policy === null ? {} : { "content-security-policy": policy };
}

async function documentFor(request: Request, wait: (work: Promise<unknown>) => void): Promise<Response> {
  const kept = () => caches.match(place, anyEncoding);
  try {
    const answer = await fetch(request);
    if (isAway(answer)) return (await kept()) ?? answer;
    if (answer.ok && !answer.redirected) wait(keepDocument(answer.clone()));
    return answer;
  } catch (error) {
    const answer = await kept();
    if (answer === undefined) throw error;
    return answer;
  }
}

/** Serves a file whose name depends on its content. */
async function fileFor(request: Request): Promise<Response> {
  const known = await caches.open(shelf);
  const kept = await known.match(request, anyEncoding);
  if (kept !== undefined) return kept;
  const answer = await fetch(request);
  if (answer.ok) await known.put(request, answer.clone());
  return answer;
}

worker.addEventListener("install", (event) => {
  event.waitUntil(
    fetch(place, { credentials: "same-origin" })
      .then((answer) => (answer.ok && !answer.redirected ? keepDocument(answer) : undefined))
      .then(() => worker.skipWaiting()),
  );
});

worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));

worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== place.origin || !pathname.startsWith(place.pathname)) return;
  const path = pathname.slice(place.pathname.length);
  if (path === "") event.respondWith(documentFor(request, (work) => event.waitUntil(work)));
  else if (/^(?:assets\/|icon)/.test(path)) event.respondWith(fileFor(request));
});
