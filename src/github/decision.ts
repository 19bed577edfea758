import type { Subject } from "../pull-requests/index.ts";

/** What is served, as deliveries name it. */
export interface Served {
  /** `owner/name`; GitHub takes no notice of its case. */
  repository: string;
  /** The branch that was chosen; undefined for whatever the default branch is. */
  branch: string | undefined;
}

/** What a delivery means. Nothing in it is a fact: it only says where to look. */
export type Decision =
  /** The repository may have changed and is read again. */
  | {
      result: "changed";
      /** Commit before a push: seeing it still means that GitHub's API is behind its own message. */
      before?: string;
      /** Name of the default branch, where the delivery tells it. */
      defaultBranch?: string;
      /** Something for an admin to know or to do. */
      note?: string;
    }
  /** The App lost the repository: reading it fails, and the catalog says why. */
  | { result: "disconnected"; reason: string }
  /** A commit is proposed, is so no more, or is to go elsewhere: the pull request or merge group is looked at. */
  | {
      result: "proposed";
      subject: Subject;
      /** Head before a push: seeing it still means that GitHub's API is behind its own message. */
      before?: string;
    }
  | { result: "ignored"; reason: string }
  /** It was signed, but lacks what its event always has. */
  | { result: "unreadable"; reason: string };

/** Whether two names of repositories or accounts are the same to GitHub. */
export const sameName = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

export const ignored = (reason: string): Decision => ({ result: "ignored", reason });

export const anotherRepository = (name: string): Decision =>
  ignored(`It is about ${name}, which is not the repository that is served.`);

export const unknownAction = (action: string): Decision =>
  ignored(`The action ${action} changes nothing here.`);
