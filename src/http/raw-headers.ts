/**
 * How often a request has a header; of most, Node's `headers` keeps one and says nothing of the others.
 *
 * @param rawHeaders names and values in turn, as Node keeps them
 * @param name in lower case
 */
export function countHeader(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === name) count += 1;
  }
  return count;
}
