import { frameworks } from "../../src/frameworks/index.ts";
import { frameworkSuite } from "./framework.suite.ts";
import { frameworkFailuresSuite } from "./framework-failures.suite.ts";

for (const framework of frameworks) {
  frameworkSuite(framework);
  frameworkFailuresSuite(framework);
}
