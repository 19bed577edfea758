import { sha256 } from "../../platform/secrets.ts";

/** What a tool slug may have at most; specs and model providers share the limit. */
const maxSlug = 64;
const suffixLength = 8;

/** A tool of one server under the slug that specs name it by. */
export interface SluggedTool {
  /** The server's own name for it. */
  name: string;
  slug: string;
}

/**
 * Slugs `SERVER_TOOL` for a server's tools, the same ones whatever the order of `names`. A slug that is too
 * long, or that belongs to a tool which is spelled more like it, ends in a hash of the tool's own name; so it
 * stays the same when other tools come and go, unless one of them comes that has a better claim.
 */
export function toolSlugs(
  server: string,
  names: readonly string[],
): { tools: SluggedTool[]; warnings: string[] } {
  const tools: SluggedTool[] = [];
  const warnings: string[] = [];
  const bySlug = Map.groupBy([...new Set(names)].sort(), (name) => screamingSnake(server, name));
  for (const [slug, claimants] of bySlug) {
    const owner = claimants.find((name) => slug.endsWith(`_${name.toUpperCase()}`)) ?? claimants[0];
    for (const name of claimants) {
      const fits = slug.length <= maxSlug;
      const given = fits && name === owner ? slug : hashed(slug, name);
      tools.push({ name, slug: given });
      if (given === slug) continue;
      const why = fits ? `${slug} belongs to ${JSON.stringify(owner)}` : "its slug would be too long";
      warnings.push(`The tool ${JSON.stringify(shown(name))} of ${server} is called ${given}: ${why}.`);
    }
  }
  return { tools: tools.sort((a, b) => (a.slug < b.slug ? -1 : 1)), warnings };
}

const shown = (name: string) => (name.length > 80 ? `${name.slice(0, 79)}…` : name);

/** Words are told apart at capitals and at whatever is neither letter nor digit. */
function screamingSnake(server: string, name: string): string {
  const words = `${server}_${name}`
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, "$1_$2")
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1_$2")
    .toUpperCase();
  return words.replace(/[^A-Z0-9]+/g, "_").replace(/_+$/, "");
}

function hashed(slug: string, name: string): string {
  const hash = sha256(name).slice(0, suffixLength).toUpperCase();
  return `${slug.slice(0, maxSlug - suffixLength - 1).replace(/_+$/, "")}_${hash}`;
}
