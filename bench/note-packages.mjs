// Preload (`--import`): writes the URL of every package module that the program itself imports to the file
// BENCH_PACKAGES.
import { register } from "node:module";

register("./note-packages-hook.mjs", import.meta.url);
