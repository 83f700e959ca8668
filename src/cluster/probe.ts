import { nullIfFailed } from "../runtime/failures.js";
import { type Clock, systemClock } from "../runtime/clock.js";
import { type Connection, endpointOf, openSocket, startTls } from "../runtime/connecting.js";
import { Names } from "../runtime/host-names.js";

/*
 * Probes whether a host answers from here, without burdening it: standby members ask while another one does not reach
 * it. An accepted connection is no answer, as a proxy may accept it for a dead host.
 */

const reachMs = 3_000;
/** How long accounts of one host share an answer. */
const knownForMs = 5_000;

/** HTTP servers answer that they do not know this; brokers close or reset a connection that says it before a login. */
const nonsense = Buffer.from([0xc0, 0, 13, 10, 13, 10]);

/** An error that shows that the other side is there. */
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
      // No secrets are sent, so the certificate need not be valid.
      startTls(socket, host, { rejectUnauthorized: false })
        .on("error", failed)
        .once("secureConnect", answered);
      return;
    }
    socket.once("data", answered).once("end", answered);
    socket.write(nonsense);
  });

/** Probes a host once for all who ask at about the same time. */
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
