import type { ParameterGroup } from "../greenhouse/device-types.js";
import {
  type ClientStatus,
  type DeviceList,
  type Pace,
  PlatformError,
  type PlatformReader,
  type Query,
  type RawValue,
  type RunningStatusItem,
  type SensorItem,
  type WriteAccepted,
  type WriteManner,
} from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import { type FailureScene, made, placeOf } from "./answer.js";
import type { Authorized } from "./authorized.js";
import { type Decoding, UnreadableShape, withoutHostileNames } from "./decode/decoding.js";
import { deviceReader, type Station, stationReader } from "./decode/lists.js";
import { manyValuesReader, oneValueReader, readWriteAnswer } from "./decode/registers.js";
import { sensorReader } from "./decode/sensors.js";
import { connectionReader, runningStatusReader } from "./decode/statuses.js";
import {
  deviceCode,
  type Operation,
  operations,
  plainText,
  readOnlyOperation,
  readOnlyOperations,
  requestPath,
  userQuery,
} from "./operations.js";
import type { OperationShape, ShapeSettings } from "./settings.js";
import type { ShapeReports } from "./shape-reports.js";
import type { ReadTime } from "./time.js";

export interface ReaderPorts {
  readonly authorized: Authorized;
  readonly reports: ShapeReports;
  readonly readTime: ReadTime;
  readonly clock: Clock;
  readonly share: (signal: AbortSignal) => void;
  /** What an error about an operation has to know. */
  readonly scene: (operation: Operation) => Pick<FailureScene, "operation" | "url" | "redact">;
}

interface Ask {
  readonly operation: Operation;
  readonly query: Query;
  readonly signal: AbortSignal;
  readonly urgent?: boolean;
}

/** The reads of the platform: which request, and which decoder for its answer. */
export class Reader implements PlatformReader {
  readonly #ports: ReaderPorts;
  readonly #shapes: ShapeSettings;
  readonly #controllers: ReturnType<typeof deviceReader>;
  readonly #devices: ReturnType<typeof deviceReader>;
  readonly #stations: ReturnType<typeof stationReader>;
  readonly #connection: ReturnType<typeof connectionReader>;
  readonly #sensors: ReturnType<typeof sensorReader>;
  readonly #statuses: ReturnType<typeof runningStatusReader>;
  readonly #value: ReturnType<typeof oneValueReader>;
  readonly #values: ReturnType<typeof manyValuesReader>;

  constructor(ports: ReaderPorts, shapes: ShapeSettings) {
    const shapeOf = ({ name }: Operation): OperationShape => shapes[name] ?? {};
    this.#ports = ports;
    this.#shapes = shapes;
    this.#controllers = deviceReader(shapeOf(operations.controllers));
    this.#devices = deviceReader(shapeOf(operations.devices));
    this.#stations = stationReader(shapeOf(operations.stations));
    this.#connection = connectionReader(shapeOf(operations.connection));
    this.#sensors = sensorReader(shapeOf(operations.sensors));
    this.#statuses = runningStatusReader(shapeOf(operations.runningStatuses));
    this.#value = oneValueReader(shapeOf(operations.value));
    this.#values = manyValuesReader(shapeOf(operations.values));
  }

  controllers(signal: AbortSignal): Promise<DeviceList> {
    return this.#ask({ operation: operations.controllers, query: {}, signal }, this.#controllers);
  }

  devices(dataType: "TEXT" | "STREAM", signal: AbortSignal): Promise<DeviceList> {
    return this.#ask({ operation: operations.devices, query: { dataType }, signal }, this.#devices);
  }

  stations(signal: AbortSignal): Promise<readonly Station[]> {
    return this.#ask({ operation: operations.stations, query: {}, signal }, this.#stations);
  }

  async connection(code: string, signal: AbortSignal, pace: Pace = "urgent"): Promise<ClientStatus> {
    const operation = operations.connection;
    const query = { deviceCode: deviceCode(code, operation) };
    return this.#ask({ operation, query, signal, urgent: pace === "urgent" }, this.#connection);
  }

  async sensors(code: string, signal: AbortSignal): Promise<readonly SensorItem[]> {
    const operation = operations.sensors;
    const query = { deviceCode: deviceCode(code, operation) };
    return this.#ask({ operation, query, signal }, (body, decoding) => this.#sensors(body, code, decoding));
  }

  async runningStatuses(code: string, signal: AbortSignal): Promise<readonly RunningStatusItem[]> {
    const operation = operations.runningStatuses;
    const query = { deviceCode: deviceCode(code, operation) };
    return this.#ask({ operation, query, signal }, (body, decoding) => this.#statuses(body, code, decoding));
  }

  async value(code: string, address: string, fresh: boolean, signal: AbortSignal): Promise<RawValue | null> {
    const operation = operations.value;
    const query = {
      deviceCode: deviceCode(code, operation),
      address: plainText(address, "address", operation),
      ...(fresh ? { flush: "1" } : {}),
    };
    const ask = { operation, query, signal, urgent: fresh };
    return this.#ask(ask, (body, decoding) => this.#value(body, code, address, decoding));
  }

  async values(
    code: string,
    group: ParameterGroup,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, RawValue>> {
    const operation = operations.values;
    const query = { deviceTypeId: String(group), deviceCode: deviceCode(code, operation) };
    return this.#ask({ operation, query, signal }, (body, decoding) => this.#values(body, code, decoding));
  }

  async get(name: string, query: Query, signal: AbortSignal): Promise<unknown> {
    const operation = readOnlyOperation(name);
    if (operation === null) {
      const known = readOnlyOperations.map((one) => one.name).join(", ");
      throw new PlatformError(
        `not sent; ${JSON.stringify(name.slice(0, 80))} is no read-only operation of the platform; they are ${known}`,
        { kind: "invalid_request", host: "business", operation: "get", sent: false },
      );
    }
    return this.#ask({ operation, query: userQuery(operation, query), signal }, withoutHostileNames);
  }

  async #ask<T>(ask: Ask, decode: (body: unknown, decoding: Decoding) => T): Promise<T> {
    const { operation, query, signal, urgent = false } = ask;
    const { authorized, reports, readTime, clock } = this.#ports;
    const path = requestPath(operation, query, this.#shapes[operation.name]);
    this.#ports.share(signal);
    const { body } = await authorized.read({ operation, path, signal, urgent, patient: urgent });
    const report = reports.of(operation);
    try {
      return decode(body, { report, readTime, receivedAt: clock.now() });
    } catch (error) {
      if (!(error instanceof UnreadableShape)) throw error;
      report(error.message, body);
      throw this.#unreadable(operation, error.message);
    }
  }

  #unreadable(operation: Operation, why: string): Error {
    const scene = this.#ports.scene(operation);
    const remedy = `platform.shapes.${operation.name}.items can say where they are`;
    return made(`${why}; ${remedy}`, { ...placeOf(scene), kind: "protocol", status: 200, sent: true }, scene);
  }
}

export interface WriterPorts {
  readonly authorized: Authorized;
  readonly reports: ShapeReports;
  readonly scene: (operation: Operation) => Pick<FailureScene, "operation" | "url" | "redact">;
  readonly share: (signal: AbortSignal) => void;
}

/** The only operation that moves something. Whatever happens, one call is one POST at most. */
export class Writer {
  readonly #ports: WriterPorts;

  constructor(ports: WriterPorts) {
    this.#ports = ports;
  }

  async write(
    code: string,
    address: string,
    value: string,
    signal: AbortSignal,
    manner: WriteManner = {},
  ): Promise<WriteAccepted> {
    const operation = operations.setValue;
    const { authorized, reports, scene, share } = this.#ports;
    const sent = {
      address: plainText(address, "address", operation),
      value: plainText(value, "value", operation),
      deviceCode: deviceCode(code, operation),
    };
    share(signal);
    const call = { operation, path: operation.path, body: JSON.stringify(sent), signal };
    const { body, envelope } = await authorized.write({ ...call, ...manner, urgent: true, patient: true });
    const accepted = readWriteAnswer(body, envelope, sent, reports.of(operation));
    if (accepted !== null) return accepted;
    const place = scene(operation);
    throw made(
      "the answer has no code, so nothing says whether the value was accepted; it is read back",
      { ...placeOf(place), kind: "protocol", status: 200, sent: true },
      place,
    );
  }
}
