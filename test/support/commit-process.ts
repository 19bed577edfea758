/**
 * Commits a file to a local repository and prints `done` with the answer, or `failed` with the error. The call of that
 * number, from 1, that changes a name on disk is not made: the process dies by SIGKILL instead, or (`fail`) the disk is
 * full from then on for that one call. Arguments: repository, kill or fail, number, base commit, path, text.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const [repository = "", how = "", fatal = "", baseSha = "", path = "", text = ""] = process.argv.slice(2);
let count = 0;

function fatalOnce<A extends unknown[], R>(call: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
  return async (...args) => {
    count += 1;
    if (count === Number(fatal) && how === "kill") process.kill(process.pid, "SIGKILL");
    if (count === Number(fatal)) throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
    return call(...args);
  };
}

fs.promises.rename = fatalOnce(fs.promises.rename);
fs.promises.link = fatalOnce(fs.promises.link);
fs.promises.rm = fatalOnce(fs.promises.rm);
syncBuiltinESMExports();

const { openRepository } = await import("../../src/repositories/index.ts");
const { writer } = openRepository({ kind: "local", path: repository });
try {
  const written = await writer.commit({ baseSha, files: [{ path, text }], message: "Change it" });
  console.log(`done ${count < Number(fatal)} ${JSON.stringify(written)}`);
} catch (error) {
  console.log(`failed ${error}`);
}
