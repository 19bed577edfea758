/** The message of a run that an event starts: `{"trigger_type":"event","trigger":SLUG,"payload":DATA}`. */
export function envelope(slug: string, data: Record<string, unknown>): string {
  return JSON.stringify({ trigger_type: "event", trigger: slug, payload: data });
}
