/** Order of tree entries that all readers keep, so that two listings can be compared. */
export const byPath = (a: { path: string }, b: { path: string }): number =>
  a.path < b.path ? -1 : a.path > b.path ? 1 : 0;

/** Whether a path can name a file of a repository: parts between single slashes, none of them `.` or `..`. */
export const isFilePath = (path: string): boolean =>
  path.isWellFormed() && path.split("/").every((part) => part !== "" && part !== "." && part !== "..");
