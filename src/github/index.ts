export { createGitHubApp } from "./app.ts";
