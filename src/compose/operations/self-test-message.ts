/** What a bridge says on `bridge/self_test`: to hear itself, and so that two bridges hear each other. */
export interface SelfTestMessage {
  /** A random id of the run of the program that sent it. */
  readonly instance: string;
  readonly nonce: string;
  readonly client: string;
  /** Whether it takes commands at all. */
  readonly commands: boolean;
  /** Device codes of its account, the first few. */
  readonly controllers: readonly string[];
  /** It is about to stop. */
  readonly leaving: boolean;
}

const mostControllers = 50;
const mostBytes = 16 * 1024;

export function selfTestPayload(message: SelfTestMessage): string {
  const controllers = [...message.controllers].sort().slice(0, mostControllers);
  return JSON.stringify({ ...message, controllers });
}

/** What somebody wrote there; null for anything that is not such a message. */
export function readSelfTest(payload: Uint8Array): SelfTestMessage | null {
  if (payload.length > mostBytes) return null;
  const fields = parsed(payload);
  const instance = text(fields["instance"]);
  const nonce = text(fields["nonce"]);
  if (instance === null || nonce === null) return null;
  const controllers = Array.isArray(fields["controllers"]) ? fields["controllers"] : [];
  return {
    instance,
    nonce,
    client: text(fields["client"]) ?? "unknown",
    commands: fields["commands"] !== false,
    controllers: controllers.filter((code) => typeof code === "string").slice(0, mostControllers),
    leaving: fields["leaving"] === true,
  };
}

function parsed(payload: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(payload));
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

const text = (value: unknown): string | null =>
  typeof value === "string" && value.length > 0 && value.length <= 200 ? value : null;
