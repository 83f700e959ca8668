import type { DeviceDocument } from "./document.js";

/** Brokers and Home Assistant's users have limits on packets; the usual smallest is 256 KiB. */
export const maxDocumentBytes = 240 * 1024;

/** The message's text; the last components are left out where it would be too large, and counted. */
export function fittingDocument(
  document: DeviceDocument,
  maxBytes = maxDocumentBytes,
): { readonly document: DeviceDocument; readonly leftOut: number } {
  let excess = Buffer.byteLength(JSON.stringify(document)) - maxBytes;
  if (excess <= 0) return { document, leftOut: 0 };
  const kept = Object.entries(document.components);
  const all = kept.length;
  while (excess > 0 && kept.length > 0) excess -= Buffer.byteLength(JSON.stringify(kept.pop())) - 2;
  return { document: { ...document, components: Object.fromEntries(kept) }, leftOut: all - kept.length };
}
