/**
 * Undici's connection pool. The package's front door also loads fetch, caches, cookies and WebSockets, which take longer than
 * the whole platform client; it is used where a release keeps the pool elsewhere.
 */
export const Pool = await import("undici/lib/dispatcher/pool.js").then(
  (pool) => pool.default,
  async () => (await import("undici")).Pool,
);
