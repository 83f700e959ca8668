/**
 * Loads code as it is first asked for, and has it from then on. An `import()` of what is loaded already still leaves the thread, and
 * whoever starts a part must not wait for that, nor may simulated time pass meanwhile. What failed is tried again.
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
