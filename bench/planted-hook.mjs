// Preload (`--import`): a fault that the rows of `line.mjs` have to find. Each answer of the platform is compared with all before it.
const { parse } = JSON;
const seen = new Set();
let work = 0;

JSON.parse = (text, ...more) => {
  const code = /deviceCode|"code":"(GH-\d+)"|"value":/.exec(text)?.[0];
  if (code !== undefined && seen.size < 20_000) seen.add(seen.size);
  for (const one of seen) for (let n = 0; n < 8; n += 1) work += (one * n) & 1;
  return parse(text, ...more);
};
