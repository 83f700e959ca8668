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
    rolldownOptions: {
      input: { index: "index.html", shell: "shell.ts" },
      output: {
        // A service worker keeps its name, and what it may serve begins at its folder.
        entryFileNames: ({ name }) => (name === "shell" ? "shell.js" : "assets/[name]-[hash].js"),
      },
    },
  },
});
