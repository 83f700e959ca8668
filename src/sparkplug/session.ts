/*
 * The session of an edge node with its hosts: what may be said, in which order and under which number. It knows devices by their
 * names and nothing of their metrics, publishes nothing and reads no clock; the value is changed in place. Instants are monotonic
 * ms.
 *
 * Births go before data, a birth of the node before those of its devices, and nothing at all before that. While a host is awaited
 * or a new birth is due, data wait. They are published with their newest value later, so none is kept.
 */

/** The least time between two births that hosts ask for; one that comes earlier is answered then, with all that came meanwhile. */
export const rebirthEveryMs = 5_000;
/** A birth that is too large for its broker is so a reading later too. */
export const unsentRestsMs = 600_000;

interface Device {
  /** Whether it is there for its hosts. */
  isAlive: boolean;
  isBorn: boolean;
  /** Removed once its death is told. */
  isGone: boolean;
  /** Until when a birth that could not be sent is not made again on this link; null where none failed. */
  restsUntil: number | null;
}

export interface Session {
  isLinked: boolean;
  /** The greenhouse was read so far that a birth need not be told again at once. */
  isSettled: boolean;
  readonly host: Host;
  /** Of the newest CONNECT. */
  bdSeq: number;
  isBorn: boolean;
  /** Something that the node tells of itself changed. */
  isNodeDue: boolean;
  nextSeq: number;
  isRebirthAsked: boolean;
  rebornAt: number | null;
  readonly devices: Map<string, Device>;
  /** Devices of which a birth or a death is due, and those of which data are, the one that waits longest first. */
  readonly dueBirths: Set<string>;
  readonly dueData: Set<string>;
}

/** The primary host, as far as its own messages say. */
interface Host {
  /** Without one nothing waits for it. */
  readonly isAwaited: boolean;
  isOnline: boolean;
  /** Of the newest of its words that was believed on this link; null before the first. */
  timestamp: number | null;
}

export const newSession = (awaitsHost: boolean): Session => ({
  isLinked: false,
  isSettled: false,
  host: { isAwaited: awaitsHost, isOnline: false, timestamp: null },
  bdSeq: 0,
  isBorn: false,
  isNodeDue: false,
  nextSeq: 0,
  isRebirthAsked: false,
  rebornAt: null,
  devices: new Map(),
  dueBirths: new Set(),
  dueData: new Set(),
});

export const bdSeqAfter = (bdSeq: number | null): number => (bdSeq === null ? 0 : (bdSeq + 1) % 256);

/** The commands of hosts can arrive, and what is published leaves. */
export function onLinked(session: Session, bdSeq: number): void {
  session.isLinked = true;
  session.bdSeq = bdSeq;
}

/** Every session ends with its link: the next one begins with births. What the host said holds for the link that brought it. */
export function onUnlinked(session: Session): void {
  session.isLinked = false;
  session.host.isOnline = false;
  session.host.timestamp = null;
  dead(session);
  for (const device of session.devices.values()) device.restsUntil = null;
}

function dead(session: Session): void {
  session.isBorn = false;
  session.isRebirthAsked = false;
  for (const [name, device] of session.devices) {
    device.isBorn = false;
    if (device.isGone) session.devices.delete(name);
  }
}

/** What the primary host says of itself; of the words of version 2, which carry no time, only before the first that does. */
export interface HostWord {
  readonly isOnline: boolean;
  readonly timestamp: number | null;
}

/** Whether the session is to end in order, because its primary host went. */
export function hostSpoke(session: Session, { isOnline, timestamp }: HostWord): boolean {
  const { host } = session;
  const isNews = timestamp === null ? host.timestamp === null : timestamp >= (host.timestamp ?? 0);
  if (!isNews) return false;
  host.isOnline = isOnline;
  if (timestamp !== null) host.timestamp = timestamp;
  return !isOnline && session.isBorn;
}

export function onRebirthRequest(session: Session): void {
  // Before the first birth everybody is about to get one.
  if (session.isBorn) session.isRebirthAsked = true;
}

/** What is due of a device that changed: a birth where it came, or where only a birth can tell the change. */
export function onDeviceChange(session: Session, name: string, isAlive: boolean, needsBirth: boolean): void {
  const device = session.devices.get(name) ?? { isAlive, isBorn: false, isGone: false, restsUntil: null };
  session.devices.set(name, device);
  device.isAlive = isAlive;
  device.isGone = false;
  const isOtherwise = isAlive !== device.isBorn || (isAlive && needsBirth);
  if (isOtherwise) session.dueBirths.add(name);
  else if (isAlive) session.dueData.add(name);
  else session.dueBirths.delete(name);
}

/** It is no more at all; its hosts are told first. */
export function deviceGone(session: Session, name: string): void {
  const device = session.devices.get(name);
  if (device === undefined) return;
  device.isAlive = false;
  device.isGone = true;
  session.dueData.delete(name);
  if (device.isBorn) session.dueBirths.add(name);
  else session.devices.delete(name);
}

/** Its birth was not sent: for its hosts it is not there, until it changes a while later, or on the next link. */
export function leftUnborn(session: Session, name: string, now: number): void {
  const device = session.devices.get(name);
  if (device === undefined) return;
  device.isBorn = false;
  device.restsUntil = now + unsentRestsMs;
}

export type Message =
  | { readonly type: "node_birth" | "node_data" }
  | { readonly type: "device_birth" | "device_data" | "device_death"; readonly device: string };

/** What is to be sent now and is not due any more; null for nothing. */
export function nextMessage(session: Session, now: number): Message | null {
  if (!mayBeBorn(session)) return null;
  if (session.isRebirthAsked && rebirthAt(session) <= now) {
    dead(session);
    session.rebornAt = now;
  }
  if (!session.isBorn) return nodeBirth(session);
  // Data that would come before the birth that was asked for are told by it.
  return birthOrDeath(session, now) ?? (session.isRebirthAsked ? null : data(session));
}

/** A message leaves under the number it was given: `nextSeq`. */
export function onSent(session: Session): void {
  session.nextSeq = (session.nextSeq + 1) % 256;
}

const mayBeBorn = ({ isLinked, isSettled, host }: Session) =>
  isLinked && isSettled && (!host.isAwaited || host.isOnline);

const rebirthAt = ({ rebornAt }: Session) => (rebornAt === null ? 0 : rebornAt + rebirthEveryMs);

/** When time alone brings something to send; null for never. */
export const sessionWakesAt = (session: Session): number | null =>
  session.isRebirthAsked && mayBeBorn(session) ? rebirthAt(session) : null;

function nodeBirth(session: Session): Message {
  session.isBorn = true;
  session.isNodeDue = false;
  session.nextSeq = 0;
  session.dueBirths.clear();
  session.dueData.clear();
  for (const [name, { isAlive }] of session.devices) if (isAlive) session.dueBirths.add(name);
  return { type: "node_birth" };
}

/** All of them before any data. */
function birthOrDeath({ dueBirths, dueData, devices }: Session, now: number): Message | null {
  for (const name of dueBirths) {
    dueBirths.delete(name);
    dueData.delete(name);
    const device = devices.get(name);
    if (device === undefined || (!device.isAlive && !device.isBorn)) continue;
    const { isAlive } = device;
    if (isAlive && now < (device.restsUntil ?? -Infinity)) continue;
    device.isBorn = isAlive;
    if (device.isGone) devices.delete(name);
    return { type: isAlive ? "device_birth" : "device_death", device: name };
  }
  return null;
}

function data(session: Session): Message | null {
  if (session.isNodeDue) {
    session.isNodeDue = false;
    return { type: "node_data" };
  }
  const [name] = session.dueData;
  if (name === undefined) return null;
  session.dueData.delete(name);
  return { type: "device_data", device: name };
}
