import { appendFileSync } from "node:fs";

const isPackage = (url) => url.includes("/node_modules/");
const seen = new Set();

export async function resolve(specifier, context, next) {
  const result = await next(specifier, context);
  const { url } = result;
  if (isPackage(url) && !isPackage(context.parentURL ?? "") && !seen.has(url)) {
    seen.add(url);
    appendFileSync(process.env.BENCH_PACKAGES, `${url}\n`);
  }
  return result;
}
