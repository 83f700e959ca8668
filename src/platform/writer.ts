import type { WriteAccepted, WriteManner } from "../greenhouse/ports.js";
import type { Authorized } from "./authorized.js";
import { readWriteAnswer } from "./decode/write-answer.js";
import { made, placeOf, type FailureScene } from "./failure.js";
import { operations, type Operation } from "./operations.js";
import { deviceCode, plainText } from "./request-path.js";
import type { ShapeReports } from "./shape-reports.js";

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
