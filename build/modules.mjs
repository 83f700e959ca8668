// npm run build:modules: each module in a file of its own, in `dist-modules`.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { root, writeModules } from "./bundle.mjs";
import { writeLanguages } from "./languages.mjs";

writeLanguages(root);
const folder = join(root, "dist-modules");
rmSync(folder, { recursive: true, force: true });
await writeModules({ folder });
