import { open, unlink } from "node:fs/promises";
import { dirname } from "node:path";

/** Writes a file that must not exist yet, for its owner's eyes only; on disk when it resolves. Rejects with Node's error. */
export async function writeNewFile(path: string, text: string): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    await unlink(path).catch(() => undefined);
    throw error;
  } finally {
    await file.close();
  }
  const folder = await open(dirname(path), "r");
  // Not every file system can do this; the file itself is written.
  await folder.sync().catch(() => undefined);
  await folder.close();
}
