/**
 * Runs the command line of the service with the arguments it was given, or, for `framework ID`, loads that
 * framework, and prints `loaded NAME` for each package the moment a file of it is loaded.
 */
import { registerHooks } from "node:module";

const seen = new Set<string>();
registerHooks({
  load(url, context, next) {
    const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? [];
    if (name !== undefined && !seen.has(name)) {
      seen.add(name);
      console.log(`loaded ${name}`);
    }
    return next(url, context);
  },
});

const [what, id = ""] = process.argv.slice(2);
if (what === "framework") {
  const { loadFramework } = await import("../../src/frameworks/index.ts");
  await loadFramework(id);
} else {
  await import("../../src/main.ts");
}
