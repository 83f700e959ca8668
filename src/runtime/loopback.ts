/** Whether a host name or address can only mean this computer. Brackets of IPv6 URLs are allowed. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, "");
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  if (name === "::1" || name === "0:0:0:0:0:0:0:1") return true;
  return /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/.test(name);
}
