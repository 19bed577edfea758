#!/usr/bin/env node
// Starts the command line on the Node that this project pins, whatever Node the shell has. Plain old syntax:
// this file alone has to run on Node 20.
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const main = join(root, "dist", "main.js");
const modern = Number(process.versions.node.split(".")[0]) >= 24;
const node = modern ? process.execPath : pinnedNode();

function pinnedNode() {
  try {
    return join(dirname(createRequire(import.meta.url).resolve("node/package.json")), "bin", "node");
  } catch {
    console.error("Run npm ci first: the Node that Rollcall runs on is one of its packages.");
    process.exit(1);
  }
}

if (!existsSync(main)) {
  const built = spawnSync(
    node,
    [join(root, "node_modules", "typescript", "bin", "tsc"), "-p", join(root, "tsconfig.build.json")],
    {
      stdio: ["ignore", 2, 2],
    },
  );
  if (built.status !== 0) process.exit(1);
}

const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(signal ? 1 : (code ?? 1)));
