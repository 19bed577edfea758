/** Where a webhook's signing secret is kept; the sealed text opens at no other. */
export const sealingContext = (webhookId: string) => `webhooks:${webhookId}`;
