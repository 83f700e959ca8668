import { readFile } from "node:fs/promises";

/**
 * PEM text as it is, or the content of the file it names. Rejects with the file system's error, its message led by the
 * configuration key.
 */
export async function pem(textOrPath: string, key: string): Promise<string> {
  if (textOrPath.includes("-----BEGIN ")) return textOrPath;
  try {
    return await readFile(textOrPath, "utf8");
  } catch (error) {
    if (error instanceof Error) error.message = `${key}: ${error.message}`;
    throw error;
  }
}
