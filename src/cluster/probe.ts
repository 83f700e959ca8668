import { nullIfFailed } from "../runtime/failures.js";
import { type Clock, systemClock } from "../runtime/clock.js";
import { type Connection, endpointOf, openSocket, startTls } from "../runtime/connecting.js";
import { Names } from "../runtime/names.js";

/*
 * Whether a host answers from here, at no cost to anybody: it is asked by members that stand by, while another one does not reach it.
 * That it takes connections is no answer, as what stands before it may do that.
 */

const reachMs = 3_000;
/** Accounts of one host ask it once in so long. */
const knownForMs = 5_000;

/** Servers of HTTP say that it is nothing they know, and brokers close, or reset what says this before it logs in. */
const nonsense = Buffer.from([0xc0, 0, 13, 10, 13, 10]);

/** An error by which the far side showed that it is there. */
const isAnswer = (error: NodeJS.ErrnoException, isBroker: boolean): boolean =>
  error.code === "EPROTO" ||
  error.code?.startsWith("ERR_SSL") === true ||
  (isBroker && error.code === "ECONNRESET");

/** Whether the host of a URL answers from here. */
export async function reachesHost(url: string, clock: Pick<Clock, "wait"> = systemClock): Promise<boolean> {
  const end = endpointOf(url);
  const way = { host: end.host, port: end.port, names: new Names(), connectMs: reachMs };
  const socket = await openSocket(way).catch(nullIfFailed);
  if (socket === null) return false;
  const answered = new AbortController();
  const late = clock.wait(reachMs, answered.signal).then(
    () => false,
    () => false,
  );
  try {
    return await Promise.race([answersAt(socket, end, new URL(url).protocol === "mqtt:"), late]);
  } finally {
    answered.abort();
    socket.destroy();
  }
}

const answersAt = (
  socket: Connection,
  { host, secure }: ReturnType<typeof endpointOf>,
  isBroker: boolean,
): Promise<boolean> =>
  new Promise((resolve) => {
    const answered = () => resolve(true);
    const failed = (error: Error) => resolve(isAnswer(error, isBroker));
    socket.on("error", failed);
    if (secure) {
      // Whether its certificate is right is for whoever tells it something.
      startTls(socket, host, { rejectUnauthorized: false })
        .on("error", failed)
        .once("secureConnect", answered);
      return;
    }
    socket.once("data", answered).once("end", answered);
    socket.write(nonsense);
  });

/** Asks a host once for all who want to know at about the same time. */
export function knownReaches(
  reaches: (url: string) => Promise<boolean>,
  clock: Pick<Clock, "monotonic">,
): (url: string) => Promise<boolean> {
  const known = new Map<string, { readonly at: number; readonly answer: Promise<boolean> }>();
  return (url) => {
    const now = clock.monotonic();
    const before = known.get(url);
    if (before !== undefined && now - before.at < knownForMs) return before.answer;
    const asked = reaches(url);
    known.set(url, { at: now, answer: asked });
    return asked;
  };
}
