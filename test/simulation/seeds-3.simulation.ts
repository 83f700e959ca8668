import { shard } from "./run-seeds.js";

shard(3);
