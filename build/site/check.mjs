import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/* Each link and each picture of the built site leads to a file of it, and to an anchor that is there. */

const site = fileURLToPath(new URL("dist", import.meta.url));
const pages = readdirSync(site, { recursive: true, encoding: "utf8" }).filter((path) =>
  path.endsWith(".html"),
);
const base = process.env.SITE_BASE ?? "/";
const anchors = new Map();

function anchorsOf(file) {
  if (!anchors.has(file)) {
    const text = readFileSync(file, "utf8");
    anchors.set(file, new Set([...text.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id)));
  }
  return anchors.get(file);
}

/** What is wrong with a link, or null. */
function problemOf(page, link) {
  const [path, anchor] = link.replaceAll("&amp;", "&").split("#").map(decodeURIComponent);
  const inSite = path.startsWith("/") ? `/${path.slice(base.length)}` : path;
  if (path.startsWith("/") && !path.startsWith(base)) return "lies outside the site";
  const target =
    path === ""
      ? join(site, page)
      : resolve(join(site, inSite.startsWith("/") ? "" : dirname(page)), `./${inSite}`);
  const file = [target, `${target}.html`, join(target, "index.html")].find(
    (one) => existsSync(one) && statSync(one).isFile(),
  );
  if (file === undefined) return existsSync(target) ? "is a folder without a page" : "does not exist";
  if (anchor === undefined || anchor === "" || !file.endsWith(".html")) return null;
  return anchorsOf(file).has(anchor) ? null : "has no such heading";
}

let links = 0;
const problems = [];
for (const page of pages) {
  const text = readFileSync(join(site, page), "utf8");
  for (const [, link] of text.matchAll(/\s(?:href|src)="([^"]+)"/g)) {
    if (/^(https?|mailto|data):/.test(link)) continue;
    links += 1;
    const problem = problemOf(page, link);
    if (problem !== null) problems.push(`${page}: ${link} ${problem}`);
  }
}
for (const problem of problems) console.error(problem);
console.log(`${pages.length} pages, ${links} links, ${problems.length} broken`);
if (problems.length > 0 || links === 0) process.exitCode = 1;
