import type { ParameterGroup } from "../greenhouse/device-types.js";
import { msg, row } from "../language/text.js";
import {
  type OnUnread,
  type Pace,
  PlatformError,
  type PlatformReader,
  type PlatformWriter,
  type Query,
} from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import { errorAt } from "./answer.js";
import { firstOnes } from "./counters.js";
import {
  checkDevice,
  type Decode,
  type ReportShape,
  UnreadableShape,
  withoutHostileNames,
} from "./decode/decoding.js";
import { fieldNames } from "./decode/place.js";
import { historyReader } from "./decode/history.js";
import { deviceReader, stationReader, videoReader } from "./decode/lists.js";
import { listingReader, manyValuesReader, oneValueReader, readWriteAnswer } from "./decode/registers.js";
import { averageReader, sensorReader } from "./decode/sensors.js";
import { connectionReader, runningStatusReader } from "./decode/statuses.js";
import {
  deviceCode,
  type Operation,
  operations,
  plainText,
  readOnlyOperation,
  readOnlyOperations,
  requestPath,
} from "./operations.js";
import type { PlatformInside } from "./inside.js";
import type { Requests } from "./requests.js";
import type { OperationShape, ShapeSettings } from "./settings.js";
import type { ZoneOffset } from "../runtime/zone.js";

type Asking = Pick<PlatformInside, "reports" | "readTime" | "offset" | "clock"> & {
  readonly requests: Requests;
};

const askedMs = 24 * 3_600_000;

const addressName = msg`address`;
const valueName = msg`value`;

type Question<T> = (query: Query, signal: AbortSignal, manner?: Manner) => Promise<T>;

interface Manner {
  /** By default `polled`. */
  readonly pace?: Pace;
  readonly onUnread?: OnUnread | undefined;
}

/** The last 24 hours, for platforms that want a time range. */
const lastDayBy = (clock: Clock, offset: ZoneOffset) => () => {
  const now = clock.now();
  return { since: now - askedMs, until: now, offset };
};

/** Reports unreadable items to the caller too. */
const toBoth =
  (report: ReportShape, onUnread: OnUnread | undefined): ReportShape =>
  (problem, sample) => {
    report(problem, sample);
    onUnread?.(row`${problem}${fieldNames(sample)}`);
  };

/** Asks and decodes. An answer of another shape is an error that names the setting to change. */
function question<T>(
  operation: Operation,
  decode: Decode<T>,
  shape: OperationShape | undefined,
  { requests, reports, readTime, offset, clock }: Asking,
): Question<T> {
  const report = reports.of(operation.name);
  const lastDay = lastDayBy(clock, offset);
  return async (query, signal, { pace = "polled", onUnread } = {}) => {
    const path = requestPath(operation, query, shape, lastDay);
    const { deviceCode: device } = query;
    const call = { operation, path, signal, device, pace };
    const answer = await requests.read(call).catch((error: unknown) => {
      if (isUselessAnswer(error)) reports.useless(operation.name, whatCame(error));
      throw error;
    });
    const { body } = answer;
    const { deviceCode: code = "", address = "" } = query;
    const located = firstOnes(toBoth((problem, sample) => report(problem, sample, body), onUnread));
    try {
      if (code !== "") checkDevice(body, code);
      const found = decode(body, { code, address, report: located, readTime, receivedAt: clock.now() });
      requests.onUsable(call, answer);
      return found;
    } catch (error) {
      if (!(error instanceof UnreadableShape)) throw error;
      report(error.text, body, body);
      const text = msg`${error.text}; platform.shapes.${operation.name}.items can say where they are`;
      const unreadable = errorAt(requests.context(operation), text, {
        kind: "protocol",
        status: 200,
        sent: true,
      });
      requests.onUnreadable(call, unreadable);
      throw unreadable;
    }
  };
}

const isUselessAnswer = (error: unknown): error is PlatformError =>
  error instanceof PlatformError &&
  error.facts.sent &&
  (error.facts.kind === "server" || error.facts.kind === "protocol");

/** The middle of an error's message, between operation with host and remedy. */
const whatCame = ({ message, facts }: PlatformError): string =>
  message.slice(message.indexOf("): ") + 3).split("; ")[0] ?? `HTTP ${facts.status ?? 0}`;

const ofGroup = (code: string, group: ParameterGroup): Query => ({
  deviceTypeId: String(group),
  deviceCode: code,
});

/** The reads of the platform: the request of each, and the decoder of its answer. */
export function platformReader(shapes: ShapeSettings, asking: Asking): PlatformReader {
  const reading = <T>(operation: Operation, reader: (shape: OperationShape) => Decode<T>): Question<T> => {
    const shape = shapes[operation.name];
    return question(operation, reader(shape ?? {}), shape, asking);
  };
  const controllers = reading(operations.controllers, deviceReader);
  const devices = reading(operations.devices, deviceReader);
  const stations = reading(operations.stations, stationReader);
  const videos = reading(operations.videoList, videoReader);
  const connection = reading(operations.connection, connectionReader);
  const sensors = reading(operations.sensors, sensorReader);
  const averages = reading(operations.weatherAverage, averageReader);
  const past = reading(operations.weatherList, historyReader);
  const statuses = reading(operations.runningStatuses, runningStatusReader);
  const value = reading(operations.value, oneValueReader);
  const values = reading(operations.values, manyValuesReader);
  const listing = reading(operations.values, listingReader);
  return {
    controllers: (signal, onUnread) => controllers({}, signal, { onUnread }),
    devices: (dataType, signal, onUnread) => devices({ dataType }, signal, { onUnread }),
    stations: (signal, onUnread) => stations({}, signal, { onUnread }),
    videos: (signal, code) => videos(code === undefined ? {} : { deviceCode: code }, signal),
    connection: (code, signal, pace = "urgent") => connection({ deviceCode: code }, signal, { pace }),
    sensors: (code, signal, onUnread) => sensors({ deviceCode: code }, signal, { onUnread }),
    averages: (code, signal) => averages({ deviceCode: code }, signal),
    runningStatuses: (code, signal, onUnread) => statuses({ deviceCode: code }, signal, { onUnread }),
    history: (code, signal) => past({ deviceCode: code }, signal),
    value: async (code, address, fresh, signal, pace = fresh ? "urgent" : "polled") => {
      const text = plainText(address, operations.value, addressName);
      const query = { deviceCode: code, address: text, ...(fresh ? { flush: "1" } : {}) };
      return value(query, signal, { pace });
    },
    values: (code, group, signal) => values(ofGroup(code, group), signal),
    listing: (code, group, signal, onUnread) => listing(ofGroup(code, group), signal, { onUnread }),
    get: async (name, query, signal) => {
      const operation = knownOperation(name);
      return question(operation, withoutHostileNames, shapes[operation.name], asking)(query, signal);
    },
  };
}

function knownOperation(name: string): Operation {
  const operation = readOnlyOperation(name);
  if (operation !== null) return operation;
  const known = readOnlyOperations.map((one) => one.name).join(", ");
  throw new PlatformError(
    msg`not sent; ${JSON.stringify(name.slice(0, 80))} is no read-only operation of the platform; they are ${known}`,
    { kind: "invalid_request", host: "business", operation: "get", sent: false },
  );
}

/** The only operation that moves something: one call is one POST at most, whatever happens. */
export function platformWriter({ requests, reports }: Pick<Asking, "requests" | "reports">): PlatformWriter {
  const operation = operations.setValue;
  const report = reports.of(operation.name);
  return {
    prepareWrite: () => requests.prepareWrite(),
    write: async (code, address, value, signal, { pace = "urgent", mayPost } = {}) => {
      const sent = {
        address: plainText(address, operation, addressName),
        value: plainText(value, operation, valueName),
        deviceCode: deviceCode(code, operation),
      };
      const call = {
        operation,
        path: operation.path,
        body: JSON.stringify(sent),
        device: sent.deviceCode,
        signal,
        pace,
        ...(mayPost === undefined ? {} : { mayBegin: mayPost }),
      };
      const { body, envelope, generation } = await requests.write(call);
      const accepted = readWriteAnswer(body, envelope, sent, report);
      if (accepted !== null) {
        requests.onUsable(call, { generation });
        return accepted;
      }
      throw errorAt(
        requests.context(operation),
        "the answer has no code and does not echo what was sent, so nothing says whether the value was accepted; it is read back",
        { kind: "protocol", status: 200, sent: true },
      );
    },
  };
}
