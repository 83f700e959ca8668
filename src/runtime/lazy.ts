/**
 * Loads code on first use and keeps it. Even for loaded code an `import()` takes another turn, in which nobody should
 * wait and simulated time must not pass. A failed load is tried again.
 */
export function lazy<T>(load: () => Promise<T>): () => Promise<T> {
  let code: Promise<T> | null = null;
  return () => {
    code ??= load().catch((error: unknown) => {
      code = null;
      throw error;
    });
    return code;
  };
}
