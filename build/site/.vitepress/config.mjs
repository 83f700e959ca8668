import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";
import { searchWords } from "../search-words.mjs";
import { versionLinks } from "../versions.mjs";

/*
 * The site is made of the same files that people read in the repository: docs/ its pages, docs/zh the Chinese ones, deploy/
 * keeps its paths. The first page of each language is its own. A link between files is written as it is valid in the
 * repository.
 */

const root = fileURLToPath(new URL("../../..", import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const base = process.env.SITE_BASE ?? "/";
const titleOf = (path) => /^# (.+)$/m.exec(readFileSync(join(root, path), "utf8"))?.[1] ?? path;

/** Where a page of the repository stands on the site, without a leading slash. */
function placeOf(path) {
  if (path === "build/site/home.md") return "index.md";
  if (path === "build/site/home-zh.md") return "zh/index.md";
  if (path === "README.md") return "about.md";
  if (path === "docs/zh/README.md") return "zh/about.md";
  return path.replace(/^docs\//, "").replace(/\/README\.md$/, "/index.md");
}

const pagesBelow = (folder) =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .filter((path) => path.endsWith(".md") && !path.includes("node_modules"))
        .map((path) => `${folder}/${path}`)
        .sort()
    : [];
const pages = [
  "build/site/home.md",
  "build/site/home-zh.md",
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "CHANGELOG.md",
  ...pagesBelow("docs"),
  ...pagesBelow("deploy"),
];

// VitePress looks for its own packages above each page, so the pages are copied to where these are.
const copies = fileURLToPath(new URL("../.pages", import.meta.url));
rmSync(copies, { recursive: true, force: true });
for (const path of [...pages, "docs/pictures"])
  cpSync(join(root, path), join(copies, path), { recursive: true });
/** What stands at the root of the site under a name of its own. */
const files = [
  ["src/page/public/icon.svg", "icon.svg"],
  ["docs/pictures/page-overview-desk.png", "overview.png"],
  ["docs/pictures/page-overview-desk-zh.png", "overview-zh.png"],
];
for (const [path, name] of files) cpSync(join(root, path), join(copies, "public", name));

const pathOf = new Map(pages.map((path) => [placeOf(path), path]));

/** Links between files of the repository become links of the site; other files are copied beside it. */
function siteLinks(md) {
  md.core.ruler.push("site-links", ({ tokens, env }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === "link_open" ? token.attrGet("href") : null;
      if (href === null || href === "" || /^([a-z]+:|#|\/)/.test(href)) continue;
      const [path, anchor] = href.split("#");
      const from = pathOf.get(env.relativePath) ?? env.relativePath;
      const target = join(dirname(from), decodeURI(path));
      const page = target.endsWith(".md") ? target : `${target.replace(/\/$/, "")}/README.md`;
      const place = pages.includes(page) ? placeOf(page) : target;
      token.attrSet("href", `/${place}${anchor === undefined ? "" : `#${anchor}`}`);
    }
  });
}

/** Words in angle brackets, such as a controller's code, are places to fill in; only pictures are elements. */
function elements(md) {
  md.core.ruler.push("elements", ({ tokens }) => {
    for (const token of tokens.flatMap((block) => [block, ...(block.children ?? [])])) {
      if (token.type !== "html_inline" && token.type !== "html_block") continue;
      if (/^<(img|!--)/.test(token.content)) token.content = token.content.replace(/src="(?=\w)/g, 'src="./');
      else token.type = "text";
    }
  });
}

/** The same anchors as the repository's: small letters, words joined by a minus. */
const slugify = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");

const item = (path) => ({ text: titleOf(path), link: `/${placeOf(path).replace(/(index)?\.md$/, "")}` });
const items = (folder, names) =>
  names.flatMap((name) => {
    const path =
      name === "about" ? (folder === "docs" ? "README.md" : `${folder}/README.md`) : `${folder}/${name}.md`;
    return pages.includes(path) ? item(path) : [];
  });

/** Groups of pages; what no group names stands in the last one, so that no page is lost. */
const groups = [
  {
    en: "Begin",
    zh: "入门",
    names: [
      ...[
        "about",
        "demo-to-house",
        "getting-started",
        "deploy",
        "which-setup",
        "page",
        "commands",
        "limits",
        "notify",
      ],
      ...["phone", "faq", "troubleshooting"],
    ],
  },
  {
    en: "Connect",
    zh: "接入",
    names: ["home-assistant", "node-red", "recipes", "scada", "sparkplug", "topics", "metrics"],
  },
  {
    en: "Run",
    zh: "运行",
    names: [
      "configuration",
      "operations",
      "fleet",
      "cluster",
      "platform",
      "simulator",
      "verify",
      "threat-model",
    ],
  },
];

function sidebar(folder, language) {
  const named = groups.flatMap(({ names }) => names);
  const others = pages
    .filter((path) => dirname(path) === folder && !path.endsWith("README.md"))
    .map((path) => path.slice(folder.length + 1, -".md".length))
    .filter((name) => !named.includes(name));
  const more = { en: "More", zh: "更多", names: others };
  const sections = pages
    .filter((path) => path.startsWith(`${folder}/configuration/`))
    .map((path) => ({ ...item(path), text: titleOf(path).replace(/^(?:Configuration: |配置：)|`/g, "") }));
  const keys = { text: language === "en" ? "Every key" : "全部配置键", collapsed: true, items: sections };
  const all = [...groups, more].flatMap((group) => {
    const found = items(folder, group.names);
    return found.length === 0 ? [] : { text: group[language], items: found };
  });
  return sections.length === 0 ? all : [...all, keys];
}

const deployPages = pages.filter((path) => path.startsWith("deploy/")).map(item);
const chineseDeployPages = [
  "docs/zh/deploy.md",
  ...pages.filter((path) => path.startsWith("docs/zh/deploy/")),
].map(item);

/** This version, what changed in it, and the documents of others. */
function versionMenu({ changes, security, others, newest, language }) {
  const links = versionLinks({
    ...{ home: process.env.SITE_HOME, versions: process.env.SITE_VERSIONS },
    ...{ newest, language },
  });
  return {
    text: version,
    items: [
      { text: changes, link: "/CHANGELOG" },
      { text: security, link: "/SECURITY" },
      ...(links.length === 0 ? [] : [{ text: others, items: links }]),
    ],
  };
}

/**
 * The picture of the first page as wide as its column, and the page's own green. On a phone tables and drawings are moved
 * sideways: Chinese would break after each sign, and a drawing would be too small to read.
 */
const style = `
:root { --vp-c-brand-1: #23693c; --vp-c-brand-2: #2f7d4a; --vp-c-brand-3: #2f7d4a; }
.dark { --vp-c-brand-1: #7fcf96; --vp-c-brand-2: #5fb87a; --vp-c-brand-3: #2f7d4a; }
.VPHero .image { margin: 0 0 24px !important; }
.VPHero .image-container { width: 100% !important; height: auto !important; transform: none !important; }
.VPHero .image-src { position: static !important; transform: none !important; width: 100%; max-width: 560px !important;
  max-height: none !important; margin: 0 auto; border-radius: 8px; box-shadow: 0 2px 16px #0003; }
@media (max-width: 640px) { .vp-doc td, .vp-doc th { min-width: 7em; } }
.vp-doc p:has(> img[src*="set-ups"]) { overflow-x: auto; }
.vp-doc img[src*="set-ups"] { min-width: 600px; }
`;

export default defineConfig({
  title: "greenhouse2mqtt",
  description:
    "A greenhouse platform on MQTT: a state is what the platform has shown, and each command ends in one true result.",
  srcDir: ".pages",
  outDir: "dist",
  cacheDir: ".cache",
  base,
  head: [
    ["link", { rel: "icon", type: "image/svg+xml", href: `${base}icon.svg` }],
    ["style", {}, style],
  ],
  rewrites: Object.fromEntries(pages.map((path) => [path, placeOf(path)])),
  cleanUrls: false,
  lastUpdated: false,
  markdown: {
    config: (md) => {
      siteLinks(md);
      elements(md);
    },
    anchor: { slugify },
    toc: { slugify },
    headers: { slugify },
  },
  themeConfig: {
    logo: "/icon.svg",
    // Not every page is there in both languages.
    i18nRouting: false,
    search: {
      provider: "local",
      options: {
        // What maintainers read would stand before what a user looks for.
        _render: (text, env, md) => (/(?:^|\/)inside\//.test(env.relativePath) ? "" : md.render(text, env)),
        miniSearch: { options: { tokenize: searchWords } },
        locales: {
          zh: {
            translations: {
              button: { buttonText: "搜索", buttonAriaLabel: "搜索" },
              modal: {
                noResultsText: "没有结果",
                resetButtonTitle: "清除",
                footer: { selectText: "选择", navigateText: "移动", closeText: "关闭" },
              },
            },
          },
        },
      },
    },
  },
  locales: {
    root: {
      label: "English",
      lang: "en",
      themeConfig: {
        nav: [
          { text: "Getting started", link: "/getting-started" },
          { text: "Files to deploy", items: deployPages },
          versionMenu({
            ...{ changes: "What changed", security: "Security" },
            ...{ others: "Other versions", newest: "The newest", language: "" },
          }),
        ],
        sidebar: sidebar("docs", "en"),
      },
    },
    zh: {
      label: "简体中文",
      lang: "zh-CN",
      themeConfig: {
        nav: [
          { text: "入门", link: "/zh/getting-started" },
          { text: "安装方式", items: chineseDeployPages },
          versionMenu({
            ...{ changes: "更新记录（英文）", security: "安全（英文）" },
            ...{ others: "其他版本", newest: "最新版本", language: "zh/" },
          }),
        ],
        sidebar: sidebar("docs/zh", "zh"),
        outline: { label: "本页" },
        docFooter: { prev: "上一页", next: "下一页" },
        darkModeSwitchLabel: "深色",
        sidebarMenuLabel: "目录",
        returnToTopLabel: "回到顶部",
        langMenuLabel: "语言",
      },
    },
  },
  buildEnd: ({ outDir }) => {
    for (const path of ["config.example.yaml", "LICENSE", "deploy"]) {
      cpSync(join(root, path), join(outDir, path), {
        recursive: true,
        filter: (from) => !from.endsWith(".md"),
      });
    }
  },
});
