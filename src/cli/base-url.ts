import { InvalidArgumentError } from 'commander';

/** Reads a base URL and removes a slash at its end. An address without a path means its `/v1`. */
export function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username || url.password) {
    throw new InvalidArgumentError('Give an http or https URL, such as https://api.example.com/v1.');
  }
  const path = url.pathname.replace(/\/+$/, '');
  return `${url.origin}${path === '' ? '/v1' : path}`;
}
