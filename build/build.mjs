// npm run build: the page, the program, and the licences of what is in them, all in `dist`.
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";
import { bundle, root } from "./bundle.mjs";
import { writeLanguages } from "./languages.mjs";
import { noticesOf, packagesIn } from "./notices.mjs";

writeLanguages(root);
const folder = join(root, "dist");
rmSync(folder, { recursive: true, force: true });
const page = join(root, "src/page");
const { output } = await build({
  root: page,
  configFile: join(page, "vite.config.mjs"),
  logLevel: "warn",
});
const chunks = [...output.filter(({ type }) => type === "chunk"), ...(await bundle({ folder }))];
const packages = packagesIn(chunks);
writeFileSync(join(folder, "THIRD-PARTY-NOTICES"), noticesOf(packages));
chmodSync(join(folder, "main.js"), 0o755);
