/** Tells payloads apart for recognising repeats: their text without surrounding white space. */
export const payloadKey = (payload: Uint8Array): string => new TextDecoder().decode(payload).trim();
