import { defineConfig } from "vite";

// Relative addresses alone: the page works below any path.
export default defineConfig({
  base: "./",
  build: {
    outDir: "../../dist/page",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
