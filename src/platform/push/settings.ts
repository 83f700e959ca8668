/** How the push channels are opened. */
export interface PushSettings {
  /** How the token is carried on the handshake. */
  readonly credential: "header" | "query" | "none";
  /** Name of the query parameter with `query`. */
  readonly queryName: string;
}

export const usualPush: PushSettings = { credential: "header", queryName: "token" };
