/**
 * The message of a run that a webhook starts: `{"trigger_type":"webhook","webhook":NAME,"payload":PAYLOAD}`. The
 * payload is the caller's own JSON text, only without the spaces between its tokens: parsing it and writing it again
 * would change large numbers and drop keys that occur twice. `json` has to be valid JSON.
 */
export function envelope(name: string, json: string): string {
  return `{"trigger_type":"webhook","webhook":${JSON.stringify(name)},"payload":${compactJson(json)}}`;
}

const quote = 0x22;
const backslash = 0x5c;
const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** The same tokens without white space between them. */
function compactJson(json: string): string {
  let compact = "";
  let from = 0;
  let inString = false;
  for (let i = 0; i < json.length; i++) {
    const code = json.charCodeAt(i);
    if (inString) {
      if (code === backslash) i++;
      else if (code === quote) inString = false;
    } else if (code === quote) inString = true;
    else if (isSpace(code)) {
      compact += json.slice(from, i);
      from = i + 1;
    }
  }
  return compact + json.slice(from);
}
