/** The messages of the codes with status 429, by the seconds to wait. */
export const LIMIT_MESSAGES = {
  rate_limit_exceeded: (seconds: number) => `The requests of this minute are used up. ${tryAgain(seconds)}`,
  daily_quota_exceeded: (seconds: number) => `The requests of this day are used up. ${tryAgain(seconds)}`,
  api_key_banned: (seconds: number) =>
    `The API key is temporarily banned for ignoring Retry-After. ${tryAgain(seconds)}`,
} as const;

export type LimitCode = keyof typeof LIMIT_MESSAGES;

/** Returns the message of `rate_limit_exceeded` if the limit is that of a route. */
export function routeLimitMessage(seconds: number): string {
  return `The requests of this operation are used up. ${tryAgain(seconds)}`;
}

function tryAgain(seconds: number): string {
  return `Try again in ${seconds} s, and back off exponentially.`;
}
