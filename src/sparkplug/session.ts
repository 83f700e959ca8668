/*
 * The session of an edge node with its hosts: which message may be sent, in which order and with which number. It knows
 * devices by name and nothing of their metrics, publishes nothing and reads no clock; the value is changed in place.
 * Instants are monotonic ms.
 *
 * Births go before data, and the node's birth before those of its devices. While a host is awaited or a rebirth is due,
 * data wait; their newest value is published later, so none is kept.
 */

/** The shortest time between two births that hosts ask for; earlier requests share the next one. */
export const rebirthEveryMs = 5_000;
/** How long an oversized birth is not tried again, as it would be too large after the next reading too. */
export const unsentRestsMs = 600_000;

interface Device {
  /** Whether the device is alive for hosts. */
  isAlive: boolean;
  isBorn: boolean;
  /** Removed once its death is published. */
  isGone: boolean;
  /** Until when a failed birth is not repeated on this link; null where none failed. */
  restsUntil: number | null;
}

export interface Session {
  isLinked: boolean;
  /** Enough was read that a birth need not be repeated at once. */
  isSettled: boolean;
  readonly host: Host;
  /** The number of the newest CONNECT. */
  bdSeq: number;
  isBorn: boolean;
  /** Whether a metric of the node itself changed. */
  isNodeDue: boolean;
  nextSeq: number;
  isRebirthAsked: boolean;
  rebornAt: number | null;
  readonly devices: Map<string, Device>;
  /** Devices with a birth or death due, and those with data due; the one that waits longest comes first. */
  readonly dueBirths: Set<string>;
  readonly dueData: Set<string>;
}

/** The primary host, by its own messages. */
interface Host {
  /** False without a primary host, so that nothing waits for it. */
  readonly isAwaited: boolean;
  isOnline: boolean;
  /** Of its newest accepted message on this link; null before the first. */
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

/** Commands of hosts can now arrive, and messages can be sent. */
export function onLinked(session: Session, bdSeq: number): void {
  session.isLinked = true;
  session.bdSeq = bdSeq;
}

/**
 * A session ends with its link; the next one begins with births. The host's state is valid only for the link that
 * brought it.
 */
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

/**
 * The primary host's message about itself. Those of version 2 have no timestamp and count only until the first with
 * one.
 */
export interface HostWord {
  readonly isOnline: boolean;
  readonly timestamp: number | null;
}

/** Takes the primary host's state; returns whether the session has to end because the host went offline. */
export function hostSpoke(session: Session, { isOnline, timestamp }: HostWord): boolean {
  const { host } = session;
  const isNews = timestamp === null ? host.timestamp === null : timestamp >= (host.timestamp ?? 0);
  if (!isNews) return false;
  host.isOnline = isOnline;
  if (timestamp !== null) host.timestamp = timestamp;
  return !isOnline && session.isBorn;
}

export function onRebirthRequest(session: Session): void {
  // Before the first birth a request needs no answer, as that birth comes anyway.
  if (session.isBorn) session.isRebirthAsked = true;
}

/** Schedules a birth or death if a device came or went, a birth if only that shows the change, else its data. */
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

/** The controller was removed; hosts get the device's death first. */
export function deviceGone(session: Session, name: string): void {
  const device = session.devices.get(name);
  if (device === undefined) return;
  device.isAlive = false;
  device.isGone = true;
  session.dueData.delete(name);
  if (device.isBorn) session.dueBirths.add(name);
  else session.devices.delete(name);
}

/** A birth that was not sent leaves the device unborn, until it changes after a while or on the next link. */
export function leftUnborn(session: Session, name: string, now: number): void {
  const device = session.devices.get(name);
  if (device === undefined) return;
  device.isBorn = false;
  device.restsUntil = now + unsentRestsMs;
}

export type Message =
  | { readonly type: "node_birth" | "node_data" }
  | { readonly type: "device_birth" | "device_data" | "device_death"; readonly device: string };

/** The next message, which is then no longer due; null for none. */
export function nextMessage(session: Session, now: number): Message | null {
  if (!mayBeBorn(session)) return null;
  if (session.isRebirthAsked && rebirthAt(session) <= now) {
    dead(session);
    session.rebornAt = now;
  }
  if (!session.isBorn) return nodeBirth(session);
  // A requested birth also brings data that would come before it.
  return birthOrDeath(session, now) ?? (session.isRebirthAsked ? null : data(session));
}

/** Counts a message that left with the number `nextSeq`. */
export function onSent(session: Session): void {
  session.nextSeq = (session.nextSeq + 1) % 256;
}

const mayBeBorn = ({ isLinked, isSettled, host }: Session) =>
  isLinked && isSettled && (!host.isAwaited || host.isOnline);

const rebirthAt = ({ rebornAt }: Session) => (rebornAt === null ? 0 : rebornAt + rebirthEveryMs);

/** When something becomes due by time alone; null for never. */
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

/** The next birth or death; all of them come before any data. */
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
