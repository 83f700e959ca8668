/** Why the embedded broker did not start. `key` is the configuration key to look at; `portInUse` allows another try. */
export class BrokerStartError extends Error {
  override name = "BrokerStartError" as const;
  readonly key: string;
  readonly portInUse: boolean;

  constructor(key: string, message: string, options: { portInUse?: boolean; cause?: unknown } = {}) {
    super(`${key}: ${message}`, { cause: options.cause });
    this.key = key;
    this.portInUse = options.portInUse ?? false;
  }
}
