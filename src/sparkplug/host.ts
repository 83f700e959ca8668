/** What a host says of itself: JSON on the topic of the specification, a word on that of version 2; null for anything else. */
export function hostWord(payload: Uint8Array, isOld: boolean) {
  const text = new TextDecoder().decode(payload.subarray(0, 1_024));
  if (isOld) {
    if (text !== "ONLINE" && text !== "OFFLINE") return null;
    return { isOnline: text === "ONLINE", timestamp: null };
  }
  const said = jsonOf(text);
  if (typeof said !== "object" || said === null || !("online" in said) || !("timestamp" in said)) return null;
  const { online, timestamp } = said;
  if (typeof online !== "boolean" || typeof timestamp !== "number" || !(timestamp >= 0)) return null;
  return { isOnline: online, timestamp };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
