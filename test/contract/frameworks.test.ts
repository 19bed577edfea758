import { frameworks } from "../../src/frameworks/index.ts";
import { frameworkSuite } from "./framework.suite.ts";
import { frameworkFailuresSuite } from "./framework-failures.suite.ts";
import { frameworkStreamsSuite } from "./framework-streams.suite.ts";

for (const framework of frameworks) {
  frameworkSuite(framework);
  frameworkFailuresSuite(framework);
  frameworkStreamsSuite(framework);
}
